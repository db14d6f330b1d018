"""Results as text for people and JSON for programs. Text of strangers is escaped here."""
