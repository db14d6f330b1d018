"""A small guarded index that the tests of the adapters share."""

import asyncio
import inspect
from collections.abc import Iterator

import pytest
from guarded_texts import CLEAN, TRUSTED, WRONG
from lexical_settings import lexical_settings

from codeguard.api import CodeGuard


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeGuard]:
    root = tmp_path_factory.mktemp("indexed")
    for name, text in {"ours/m.py": TRUSTED, "theirs/clean.py": CLEAN, "theirs/wrong.py": WRONG}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
        settings = lexical_settings(root, root / "store")
        with CodeGuard.open(settings=settings, trust=[root / "ours"]) as opened:
            opened.index([root / "ours", root / "theirs"])
            yield opened


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an asynchronous test, as the standard tests of frameworks have them, in a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    fixtures = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in fixtures}))
    return True
