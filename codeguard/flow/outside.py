"""Parameters that hold untrusted input according to the code's own names and docstrings.

A function that is called from another file has no visible caller. Its parameters' names
(`user_input`, `upload_name`) and its docstring ("the name asked for by the visitor") show where
their values come from.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from codeguard.corpus.patterns import lazy
from codeguard.syntax.scopes import FunctionNode

SAID = "said"  # tag of the origin of such a parameter
_LONGEST = 1_500
_NAMES = lazy(
    r"^(?:user_?(?:input|supplied\w*|provided\w*|controlled\w*|query|text|code|expr(?:ession)?|html|content"
    r"|message|prompt"
    r"|url|path|file(?:_?name)?|command|cmd|template|pattern|regex|string)"
    r"|(?:untrusted|tainted|attacker|visitor|guest|submitted|uploaded)_\w+|untrusted|raw_(?:input|request"
    r"|body|query|user\w*)"
    r"|(?:http_?|web_?|client_?)?(?:request|req|post|form|query)_(?:data|body|params?|json|form|payload"
    r"|values|input|string)"
    r"|form_?(?:data|values)|(?:webhook|callback|upload)_(?:url|uri|name|file(?:_?name)?|path|body|payload"
    r"|data|bytes|content)"
    r"|(?:client|incoming|posted|external)_(?:data|input|file_?name|payload|message|url|text|body)"
    r"|\w+_from_(?:user|request|client|form|web|upload)|user_?name|nick_?name|display_name|comment_(?:text"
    r"|body|html)"
    r"|feedback|bio|search_?(?:query|term|text)|avatar(?:_\w+)?|redirect_(?:url|to|uri|target)"
    r"|next_url|return_(?:url|to)|model_(?:output|answer|reply|response)|llm_(?:output|response|answer)"
    r"|generated_(?:code|sql|html))$",
    re.IGNORECASE,
)
_SAYS = lazy(
    r"user[- ](?:supplied|provided|submitted|controlled|entered|given|chosen)|untrusted|user input"
    r"|end[- ]users?\b|\bvisitors?\b"
    r"|(?:supplied|provided|submitted|uploaded|entered|sent|chosen|asked for|requested|typed|posted"
    r"|written) (?:in )?by "
    r"(?:an? |the |any |other |our )?(?:\w+ )?(?:users?|clients?|visitors?|customers?|browser|guests?"
    r"|members?|callers? of the api|tenants?|\w+ page|form|attackers?)\b"
    r"|\b(?:from|in|of) (?:the |an? |their )?(?:\w+ )?(?:http request|web request|query string|url parameter"
    r"|search box|contact form"
    r"|web ?form|browser|chat|web ?hook|upload form|customer portal|api request|request body|post body"
    r"|search form)\b"
    r"|\buploads?\b (?:from|of|by) |\buploaded (?:by|file|archive|image|document|avatar|picture|zip|csv|data)"
    r"|(?:language )?model(?:'s)? (?:answer|output|reply|response)|anyone can (?:send|submit|upload|post|call)"
    # "that each tenant sends", but neither "that was provided" nor "a class that stores"
    r"|\b(?:who|(?:that|which) (?:an?|the|any|each) \w{1,30}) (?:submit|upload|type|enter|post|send|pick|ask"
    r"|choos|propos|suppli|provid|stor)\w{0,5}\b"
    r"|\b(?:that|which) (?:an? |the |any )(?:\w+ )?(?:user|client|visitor|customer|member|guest|trader"
    r"|patient|student|subscriber|tenant|sender|vendor|supplier)s? (?:has |have )?\w+"
    r"|\b(?:users?|clients?|visitors?|customers?|guests?|members?) (?:can |may )?(?:sends?|types?|uploads?"
    r"|submits?|enters?|asks?|chooses?|pick|picks|writes?|typed|sent|asked)\b",
    re.IGNORECASE,
)
_SERVES = lazy(
    r"^(?:handle|process|serve|receive|accept|store|save)_(?:\w+_)?(?:upload|webhook|submission|form|post"
    r"|comment|avatar|attachment)s?$"
    r"|^(?:upload|serve)_(?:\w+_)?(?:file|avatar|image|document|attachment|picture|photo)$"
    r"|^(?:(?:fetch|get|load|build|make|render)_)?(?:link|url|page|web)_(?:preview|title|card|metadata)$"
    r"|^unfurl(?:_\w{1,20})?$|^(?:fetch_)?preview$"
)
_CERTAIN = lazy(
    r"^(?:user_?(?:input|supplied\w*|controlled\w*)|(?:untrusted|tainted|attacker)(?:_\w+)?)$", re.IGNORECASE
)
_CONSTRUCTORS = ("__init__", "__new__")
# Names for parts of the program itself, whatever the docstring says.
_OWN = lazy(
    r"^(?:self|cls|db|conn(?:ection)?|cur(?:sor)?|session|engine|client|config|cfg|settings|logger|log|app"
    r"|ctx|context|repo|pool|"
    r"\w+_(?:dir|folder|root|directory)|regex|pattern|store|storage|backend|cache|lock|loop|executor|model"
    r"|schema|key|secret|kwargs|args|"
    r"(?:base|root|upload|media|data|static|work|output|out|target|dest|template|doc|document|public|storage"
    r"|site|home|cache)s?_?"
    r"(?:dir|folder|path|root|directory)|base|root|output|target|dest|timeout|limit|max_\w+|encoding|mode"
    r"|default|callback|func|handler)$",
    re.IGNORECASE,
)


# A field of a docstring, in the styles of Sphinx, Google and NumPy: what it says is about one parameter.
_FIELD = lazy(
    r"^[ \t]*(?::(?:param|parameter|arg|argument|key|keyword)(?: [\w.\[\], |]{1,40})? (\w{1,40}):"
    r"|(\w{1,40})(?: \([^()\n]{1,60}\))?:(?=[ \t]+\S)|(\w{1,40}) : (?=\S)|:\w{1,20}[^:\n]{0,40}:)",
    re.MULTILINE,
)


def _said_of(function: FunctionNode, listed: list[str]) -> set[str]:
    """Return the parameters that a function's name or docstring says others write; a field speaks of its own alone."""
    described = (ast.get_docstring(function, clean=False) or "")[:_LONGEST]
    fields = [found for found in _FIELD.finditer(described) if (found[1] or found[2] or found[3]) in listed]
    # Fields of what is returned or raised end those of the parameters.
    ends = [found.start() for found in _FIELD.finditer(described)] + [len(described)]
    before = described[: fields[0].start()] if fields else described
    if _SERVES.search(function.name) or _SAYS.search(before):
        return set(listed)
    return {
        found[1] or found[2] or found[3]
        for found in fields
        if _SAYS.search(described[found.end() : min(end for end in ends if end > found.start())])
    }


@lru_cache(maxsize=512)
def from_outside(function: FunctionNode) -> frozenset[str]:
    """Return the parameters of a function that hold untrusted input according to names and docstring."""
    listed = [
        argument.arg
        for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if argument.arg not in ("self", "cls")
    ]
    if not listed:
        return frozenset()
    # The name that an object is constructed with (`username`, `callback_url`) is the program's own to log in or be
    # reached with.
    by_name = _CERTAIN if function.name in _CONSTRUCTORS else _NAMES
    found = {name for name in listed if by_name.match(name)}
    found.update(name for name in _said_of(function, listed) if not _OWN.match(name))
    return frozenset(found)
