"""Results as text for people and as JSON, SARIF and workflow commands for programs.

What `index`, `ranking` and `audit` return comes in, text goes out, with everything untrusted escaped. Prints nothing.
"""

AUDIT_FORMATS = ("text", "json", "github", "html", "sarif", "summary")
