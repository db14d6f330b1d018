"""A language model's second opinion on entries whose neighbours disagree among themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from codeguard.text.llm import LLMClient, LLMError
from codeguard.text.llm_reader import RULES, unused_mark


@runtime_checkable
class LabelJudge(Protocol):
    """Names the label of a text."""

    def name_labels(self, texts: Sequence[str], names: Sequence[str]) -> list[str]:
        """Return one of `names` for each text, in order; empty where there is no usable answer."""
        ...


class LLMLabelJudge:
    """Asks a language model for the label of each text, each in a call of its own."""

    def __init__(self, client: LLMClient) -> None:
        """Take the client."""
        self._client = client

    def name_labels(self, texts: Sequence[str], names: Sequence[str]) -> list[str]:
        """Return the label that the model names; empty for a failed call or an answer that is no label."""
        prompts = []
        for text in texts:
            mark = unused_mark([text])
            prompts.append(
                [
                    {"role": "system", "content": f"{RULES} Answer with one label and nothing else."},
                    {
                        "role": "user",
                        "content": f"Labels: {', '.join(names)}\n\n<document {mark}>\n{text}\n</document {mark}>"
                        "\n\nWhich label fits the document?",
                    },
                ]
            )
        known = {name.lower(): name for name in names}
        return [
            "" if isinstance(answer, LLMError) else known.get(answer.text.strip(" .'\"\n").lower(), "")
            for answer in self._client.complete_all(prompts)
        ]
