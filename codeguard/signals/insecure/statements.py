"""What SQL statements look like in the middle of code, and sentences that begin with the same words do not."""

from __future__ import annotations

import re

from codeguard.reading.flowsinks import Wording
from codeguard.reading.patterns import lazy

_NAME = r"[\w.\0\"`\[\]]{1,200}"
_COLUMN = rf"(?:{_NAME}|\*|\w{{1,40}}\([\w.\0*, ]{{0,100}}\))(?:\s+(?:as\s+)?\w{{1,60}})?"
_SHOUTED = (
    r"SELECT\s[^;]{1,1500}?\sFROM\s|INSERT\s+(?:OR\s+\w{1,20}\s+)?INTO\s|REPLACE\s+INTO\s|DELETE\s+FROM\s|"
    r"UPDATE\s[^;]{1,300}?\sSET\s|MERGE\s+INTO\s|WITH\s+(?:RECURSIVE\s+)?[^;]{1,200}?\sAS\s*\(|COPY\s*\(\s*SELECT\s"
)
_SPOKEN = (
    rf"select\s+(?:distinct\s+)?{_COLUMN}(?:\s*,\s*{_COLUMN}){{0,60}}\s+from\s+{_NAME}"
    r"(?:\s+(?:\w{1,60}\s+)?(?:where|order\s+by|group\s+by|limit|join|inner|left)\s|\s*;?\s*$)|"
    rf"insert\s+(?:or\s+\w{{1,20}}\s+)?into\s+{_NAME}\s*(?:\(|values|select)|"
    rf"update\s+{_NAME}\s+set\s+{_NAME}\s*=|delete\s+from\s+{_NAME}(?:\s+where\s|\s*;?\s*$)"
)
STATEMENTS = Wording(
    begins=lazy(
        r"[\s(]{0,200}(?:SELECT|INSERT|REPLACE|DELETE|UPDATE|MERGE|WITH|COPY|select|insert|update|delete|"
        r"Select|Insert|Update|Delete)(?:\s|$)"
    ),
    holds=lazy(
        rf"[\s(]{{0,200}}(?:{_SHOUTED}|{_SPOKEN}|Select\s+\*\s+[Ff]rom\s|Insert\s+[Ii]nto\s+{_NAME}\s+[Vv]alues|"
        rf"Update\s+{_NAME}\s+[Ss]et\s+{_NAME}\s*=|Delete\s+[Ff]rom\s+{_NAME}\s+[Ww]here\s)",
        re.DOTALL,
    ),
)
