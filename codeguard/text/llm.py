"""Chat requests to OpenAI-compatible servers (OpenAI, Ollama, vLLM, llama.cpp) by the `openai` package.

That package connects, sends and tries again. The server is not trusted, so each call has one
deadline and each answer a maximum size; compressed answers and redirects are refused, and the shape
of an answer is checked. A call that fails yields an `LLMError` at its place in the list of answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import ipaddress
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from codeguard.errors import CodeguardError, ConfigError, MissingExtraError

Message = Mapping[str, str]

MESSAGE_CHARACTERS = 300  # maximum length of a server's error message when shown
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
        """Prepare a client; nothing is sent yet.

        Raises:
            MissingExtraError: the `openai` package is not installed.
        """
        try:
            self._openai = importlib.import_module("openai")
        except ImportError:
            raise MissingExtraError("an LLM needs the openai package", "llm") from None
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
        gate = asyncio.Semaphore(self.config.concurrency)
        async with self._connect() as client:

            async def one(messages: Sequence[Message]) -> Completion | LLMError:
                try:
                    async with gate:
                        return await self._complete_one(client, messages, logprobs)
                except LLMError as error:
                    return error

            return list(await asyncio.gather(*(one(messages) for messages in prompts)))

    async def _complete_one(self, client: Any, messages: Sequence[Message], logprobs: bool) -> Completion:
        config = self.config
        request: dict[str, Any] = {
            "model": config.model,
            "messages": [dict(message) for message in messages],
            "max_tokens": config.max_tokens,
            "temperature": config.temperature,
        }
        if logprobs:
            request["logprobs"] = True
        try:
            async with asyncio.timeout(config.timeout_s):
                return parse_answer(await self._send(client, request))
        except TimeoutError:
            raise LLMError(f"no answer within {config.timeout_s:g} s") from None

    async def _send(self, client: Any, request: Mapping[str, Any]) -> bytes:
        openai = self._openai
        while True:
            sent = self._accepted_parameters(request)
            try:
                response = await client.chat.completions.with_raw_response.create(**sent)
                return bytes(response.http_response.content)
            except openai.APIStatusError as error:
                message = server_message(error.response.content)
                if error.status_code in (400, 422) and self._drop_refused_parameter(message, sent):
                    continue
                what = f"the model's server answered with status {error.status_code}{message}"
            except openai.APITimeoutError:
                what = f"no answer within {self.config.timeout_s:g} s"
            except openai.APIConnectionError as error:
                refused = _refused_answer(error)
                what = f"the connection to the model's server failed ({refused or error.__cause__ or error})"
            except AnswerRefusedError as error:
                what = str(error)
            except openai.OpenAIError as error:
                what = f"the call failed ({type(error).__name__}: {error})"[:MESSAGE_CHARACTERS]
            raise LLMError(what, hint=f"asked {self.config.base_url}")

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

    def _connect(self) -> Any:
        config, openai = self.config, self._openai
        http = openai.DefaultAsyncHttpxClient(
            follow_redirects=False,
            trust_env=not config.local,
            timeout=config.timeout_s,
            event_hooks={"response": [_size_limit_hook(_http_module(openai), config.answer_bytes)]},
        )
        return openai.AsyncOpenAI(
            base_url=config.base_url,
            api_key=config.api_key or "none",
            max_retries=config.attempts - 1,
            timeout=config.timeout_s,
            http_client=http,
            default_headers={"Accept-Encoding": "identity"},
        )


# The reasoning before an answer. A block that is not closed was cut off, and no answer follows it.
_REASONING = re.compile(r"\A(?:<(think|thinking|reasoning)>.*?(?:</\1>\s*|\Z))+", re.DOTALL | re.IGNORECASE)


class AnswerRefusedError(Exception):
    """The body of an answer is compressed or larger than the limit."""


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


def _http_module(openai: ModuleType) -> ModuleType:
    """Return the HTTP library that the installed version of openai is built on, httpx or its successor."""
    for kind in openai.DefaultAsyncHttpxClient.__mro__:
        if kind.__name__ == "AsyncClient":
            return importlib.import_module(kind.__module__.split(".")[0])
    raise MissingExtraError("this version of the openai package is built on an unknown HTTP library", "llm")


def _size_limit_hook(http: ModuleType, limit: int) -> Callable[[Any], Coroutine[Any, Any, None]]:
    """Return a response hook that refuses compressed bodies and bodies of more than `limit` bytes."""
    base: Any = http.AsyncByteStream

    class BoundedStream(base):  # type: ignore[misc]
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = limit
            async for part in self._inner:
                left -= len(part)
                if left < 0:
                    raise AnswerRefusedError(f"the model's answer is larger than {limit} bytes")
                yield part

        async def aclose(self) -> None:
            await self._inner.aclose()

    async def bound(response: Any) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise AnswerRefusedError("the model's server compressed its answer, which it was asked not to do")
        response.stream = BoundedStream(response.stream)

    return bound


def _refused_answer(error: BaseException) -> AnswerRefusedError | None:
    """Return our own error if it caused the connection error that openai raises in its place."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, AnswerRefusedError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None
