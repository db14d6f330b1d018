"""The files that coding assistants and editors obey without being asked, by their names."""

from __future__ import annotations

import re

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("skill", re.compile(r"(?:^|/)SKILL\.md$|(?:^|/)(?:\.claude|\.codex|\.agents|\.cursor|\.github"
        r"|\.gemini)/skills/.", re.IGNORECASE)),
    (
        "instructions",
        re.compile(
            r"(?:^|/)(?:AGENTS?|CLAUDE|CLAUDE\.local|GEMINI|CODEX|QWEN|WARP|CRUSH|CONVENTIONS|SOUL"
            r"|\.?copilot-instructions)\.md$"
            r"|(?:^|/)\.(?:cursor|windsurf|cline|roo|goose|continue|aider)rules$|(?:^|/)\.(?:goosehints"
            r"|roomodes|aider\.conf\.yml)$"
            r"|(?:^|/)\.(?:cursor|windsurf|clinerules|roo|continue|kiro|junie|augment|trae|qoder"
            r"|amazonq)/(?:rules|steering|guidelines)?[^ ]*\.(?:md|mdc|txt)$"
            r"|(?:^|/)\.clinerules(?:$|/)|(?:^|/)\.github/(?:instructions|prompts|chatmodes|agents)/",
            re.IGNORECASE,
        ),
    ),
    ("command or agent", re.compile(r"(?:^|/)\.(?:claude|gemini|codex|cursor|opencode)/(?:commands|agents"
        r"|prompts|output-styles)/", re.IGNORECASE)),
    (
        "servers of tools",
        re.compile(r"(?:^|/)\.?mcp\.json$|(?:^|/)\.(?:cursor|vscode|kiro/settings|roo)/mcp\.json$"
            r"|claude_desktop_config\.json$", re.IGNORECASE),
    ),
    (
        "settings and hooks",
        re.compile(
            r"(?:^|/)\.(?:claude|gemini|codex|cursor|windsurf|zed|opencode|amazonq"
            r"|qwen)/(?:settings[\w.]*\.json|hooks[\w./-]*|config\.(?:toml|json)|environment\.json)$"
            r"|(?:^|/)\.vscode/(?:settings|tasks|launch)\.json$|\.code-workspace$|(?:^"
            r"|/)\.devcontainer(?:/|\.json$)|(?:^|/)opencode\.jsonc?$"
            r"|(?:^|/)\.claude-plugin/",
            re.IGNORECASE,
        ),
    ),
)  # fmt: skip


def agent_file_kind(name: str) -> str:
    """Return the kind of agent file with this name (posix, relative), or ""."""
    return next((kind for kind, pattern in _KINDS if pattern.search(name)), "")
