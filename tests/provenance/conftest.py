import pytest
from trust_bench import Bench, make_key


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    kinds = {"alice": "ed25519", "bob": "p256", "carol": "p384", "mallory": "ed25519"}
    return {name: make_key(folder, name, kind) for name, kind in kinds.items()}


@pytest.fixture
def bench(tmp_path, keys):
    return Bench(tmp_path, keys)
