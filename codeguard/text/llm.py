"""Chat requests to OpenAI-compatible servers (OpenAI, Ollama, vLLM, llama.cpp).

The server is not trusted, so each call has one deadline for all its attempts and each answer a maximum
size; compressed answers and redirects are refused, and the shape of an answer is checked. A call that
fails yields an `LLMError` at its place in the list of answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from codeguard.errors import CodeguardError, ConfigError

if TYPE_CHECKING:
    import httpx

Message = Mapping[str, str]

MESSAGE_CHARACTERS = 300  # maximum length of a server's error message when shown
PAUSE_S = 0.5  # before the second attempt, twice as long before each further one
PASSING = (408, 409, 429)  # with those from 500 on: statuses of failures that may pass
NEGOTIABLE = ("max_tokens", "temperature", "logprobs")  # newer models refuse some of these


class LLMError(CodeguardError):
    """A call to the language model gave no usable answer."""


@dataclass(frozen=True, slots=True)
class LLMConfig:
    """Address of the model and limits on its use.

    `timeout_s` covers one call with all its attempts, from connecting to the last byte. `attempts`
    includes the first one. `answer_bytes` is the maximum size of an answer's body.
    """

    base_url: str
    model: str
    api_key: str = ""
    timeout_s: float = 60.0
    attempts: int = 3
    concurrency: int = 4
    max_tokens: int = 256
    temperature: float = 0.0
    answer_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError("base_url of the model", got=repr(self.base_url), expected="http(s)://host/…")
        for name in ("timeout_s", "attempts", "concurrency", "max_tokens", "answer_bytes"):
            if not getattr(self, name) > 0:
                raise ConfigError(name, got=getattr(self, name), expected="more than 0")

    def __repr__(self) -> str:
        return f"LLMConfig(base_url={self.base_url!r}, model={self.model!r})"  # never the key

    @property
    def local(self) -> bool:
        """Whether the endpoint is on this machine; no proxy is used for it."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer, and the natural logarithms of its tokens' probabilities, if the server sends them."""

    text: str
    logprobs: tuple[float, ...] = ()


class LLMClient:
    """Sends chat requests to one model, several at a time. Threads may share an instance."""

    def __init__(self, config: LLMConfig) -> None:
        """Prepare a client; nothing is sent yet."""
        self.config = config
        self._refused: set[str] = set()  # request parameters that this server refuses

    def complete(self, messages: Sequence[Message], *, logprobs: bool = False) -> Completion:
        """Return the answer to one prompt.

        Raises:
            LLMError: the call failed or gave no usable answer.
        """
        answer = self.complete_all([messages], logprobs=logprobs)[0]
        if isinstance(answer, LLMError):
            raise answer
        return answer

    def complete_all(
        self, prompts: Sequence[Sequence[Message]], *, logprobs: bool = False
    ) -> list[Completion | LLMError]:
        """Return an answer or an error for each prompt, in order."""
        if not prompts:
            return []
        # In a thread of its own, since the caller may be inside a running event loop (a notebook).
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, self._gather(prompts, logprobs)).result()

    async def _gather(
        self, prompts: Sequence[Sequence[Message]], logprobs: bool
    ) -> list[Completion | LLMError]:
        import httpx  # a tenth of a second: only when used

        config = self.config
        gate = asyncio.Semaphore(config.concurrency)
        headers = {
            "Accept-Encoding": "identity",
            "Authorization": f"Bearer {config.api_key or 'none'}",
            "Content-Type": "application/json",
        }
        async with httpx.AsyncClient(
            headers=httpx.Headers(headers, encoding="utf-8"),
            trust_env=not config.local,
            timeout=config.timeout_s,
        ) as client:

            async def one(messages: Sequence[Message]) -> Completion | LLMError:
                request: dict[str, Any] = {
                    "model": config.model,
                    "messages": [dict(message) for message in messages],
                    "max_tokens": config.max_tokens,
                    "temperature": config.temperature,
                }
                if logprobs:
                    request["logprobs"] = True
                try:
                    async with gate, asyncio.timeout(config.timeout_s):
                        return parse_answer(await self._send(client, request))
                except TimeoutError:
                    return LLMError(f"no answer within {config.timeout_s:g} s")
                except LLMError as error:
                    return error

            return list(await asyncio.gather(*(one(messages) for messages in prompts)))

    async def _send(self, client: httpx.AsyncClient, request: Mapping[str, Any]) -> bytes:
        """Return the body of a successful answer; failures that may pass are tried again."""
        import httpx

        failed = 0
        while True:
            sent = self._accepted_parameters(request)
            pause, passing = PAUSE_S * 2**failed, True
            try:
                status, wait, body = await self._post(client, sent)
            except httpx.TimeoutException:
                raise TimeoutError from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                what = f"the connection to the model's server failed ({error or type(error).__name__})"
            else:
                if 200 <= status < 300:
                    return body
                message = server_message(body)
                if status in (400, 422) and self._drop_refused_parameter(message, sent):
                    continue
                what = f"the model's server answered with status {status}{message}"
                passing = status in PASSING or status >= 500
                pause = float(wait) if wait.isascii() and wait.isdigit() else pause
            failed += 1
            if not passing or failed >= self.config.attempts:
                raise LLMError(what, hint=f"asked {self.config.base_url}")
            await asyncio.sleep(pause)

    async def _post(self, client: httpx.AsyncClient, sent: Mapping[str, Any]) -> tuple[int, str, bytes]:
        """Return the status of an answer, its Retry-After and its body, which is read up to the limit."""
        limit, body = self.config.answer_bytes, bytearray()
        url = f"{self.config.base_url.rstrip('/')}/chat/completions"
        async with client.stream("POST", url, content=json.dumps(sent)) as response:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise LLMError("the model's server compressed its answer, which it was asked not to do")
            async for part in response.aiter_raw():
                body += part
                if len(body) > limit:
                    raise LLMError(f"the model's answer is larger than {limit} bytes")
            return response.status_code, response.headers.get("retry-after", ""), bytes(body)

    def _accepted_parameters(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request without the parameters that this server refuses, or with their newer names."""
        refused = self._refused
        return {
            "max_completion_tokens" if name == "max_tokens" and name in refused else name: value
            for name, value in request.items()
            if name not in refused or name == "max_tokens"
        }

    def _drop_refused_parameter(self, message: str, sent: Mapping[str, Any]) -> bool:
        """Remember a parameter that an error message names; return whether to try again without it.

        What counts is what this call sent: another one may have met the refusal in the meantime.
        """
        named = [name for name in NEGOTIABLE if name in message and name in sent]
        self._refused.update(named[:1])
        return bool(named)


# The reasoning before an answer. A block that is not closed was cut off, and no answer follows it.
_REASONING = re.compile(r"\A(?:<(think|thinking|reasoning)>.*?(?:</\1>\s*|\Z))+", re.DOTALL | re.IGNORECASE)


def parse_answer(body: bytes) -> Completion:
    """Return the first choice of a chat completion, without the model's reasoning.

    Raises:
        LLMError: the body is not a chat completion, or it holds no text.
    """
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise LLMError("the model's answer is not JSON") from None
    try:
        choice = value["choices"][0]
        reason = choice.get("finish_reason")
        refusal = choice["message"].get("refusal")
        text = choice["message"]["content"]
    except (KeyError, IndexError, TypeError, AttributeError):
        message = server_message(body)
        raise LLMError(f"the model's answer has no choices[0].message.content{message}") from None
    if refusal or reason == "content_filter":
        given = server_message(json.dumps({"message": refusal}).encode()) if refusal else ": content filter"
        raise LLMError(f"the model refused to answer{given}")
    if reason == "length":
        raise LLMError("the model's answer was cut off at the limit of tokens", hint="raise max_tokens")
    if not isinstance(text, str) or not text.strip():
        raise LLMError("the model's answer has no text", got=type(text).__name__)
    # JSON may hold an unpaired surrogate, which cannot be encoded as UTF-8.
    text = text.encode("utf-8", "replace").decode("utf-8").strip()
    answer = _REASONING.sub("", text).strip()
    if not answer:
        raise LLMError("the model's answer has no text after its reasoning")
    # Those of an answer with reasoning cover the reasoning as well.
    return Completion(answer, _logprobs(choice) if answer == text else ())


def server_message(body: bytes) -> str:
    """Return the message in the body of an error response as ": message" on one line, or "".

    Servers write {"error": {"message": …}}, {"error": …}, {"detail": …} or plain text. The text
    comes from the server: escape it before showing it.
    """
    message = body[: 4 * MESSAGE_CHARACTERS].decode("utf-8", "replace")
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(body)
        if isinstance(value, dict):
            value = value.get("error") or value.get("detail") or value.get("message") or ""
        if isinstance(value, dict):
            value = value.get("message") or value
        message = value if isinstance(value, str) else json.dumps(value) if value else ""
    line = " ".join(message.encode("utf-8", "replace").decode("utf-8").split())
    if len(line) > MESSAGE_CHARACTERS:
        line = f"{line[:MESSAGE_CHARACTERS]}…"
    return f": {line}" if line else ""


def _logprobs(choice: Any) -> tuple[float, ...]:
    """Return the log-probabilities of the answer's tokens; empty if any of them is invalid."""
    try:
        values = [item["logprob"] for item in choice["logprobs"]["content"]]
    except (KeyError, TypeError):
        return ()
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not -1e6 < value <= 1e-6:
            return ()
    return tuple(float(value) for value in values)
