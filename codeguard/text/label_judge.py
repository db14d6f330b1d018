"""A language model's second opinion on entries whose neighbours disagree among themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from codeguard.text.llm import LLMClient, LLMError
from codeguard.text.llm_reader import RULES, unused_mark
from codeguard.text.reading import Reading


@runtime_checkable
class LabelJudge(Protocol):
    """Names the label of a text."""

    def name_labels(self, texts: Sequence[str], names: Sequence[str]) -> list[Reading]:
        """Return a reading with one of `names` for each text, in order; empty where there is no usable answer."""
        ...


class LLMLabelJudge:
    """Asks a language model for the label of each text, each in a call of its own."""

    def __init__(self, client: LLMClient) -> None:
        """Take the client."""
        self._client = client

    def name_labels(self, texts: Sequence[str], names: Sequence[str]) -> list[Reading]:
        """Return the label that the model names; an error for a failed call or an answer that is no label."""
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
        readings = []
        for answer in self._client.complete_all(prompts):
            if isinstance(answer, LLMError):
                readings.append(Reading("", error=str(answer), failed=True))
                continue
            name = known.get(answer.text.strip(" .'\"\n").lower(), "")
            readings.append(Reading(name, error="" if name else "the model named no label of the base"))
        return readings
