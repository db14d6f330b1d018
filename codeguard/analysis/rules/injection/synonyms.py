"""Further English words for the concepts of `lexicon` and `manner`, and additional concepts."""

from __future__ import annotations

SYNONYMS: dict[str, str] = {
    "addressee": """
robot robots devin cline cody grok bard qwen codestral starcoder jules neural openai anthropic copilots
completer completers summarizers autopilot
""",
    "machine": """
automaton automata program programs system systems parser indexers embedder graders scanners processor
""",
    "you": "ye yourselves",
    "override": """
scrap scrapped bin toss nuke purge wipe reset erase flush flushed outrank* outweigh* trump* precedence expired
overwrit* obsolete superseded caducous terminate unlock* notwithstanding irrespective unbound waived
""",
    "prior": "former formerly old older initial beginning outset system-prompt preamble originally said told",
    "instruction": """
brief briefing agenda mission directions orders ordered instructing directed commanded charter duty duties job plan
obligation obligations provision provisions clause mandate assignment preference preferences assignments
""",
    "recommend": """
pitch hype boost tout praise laud extol vouch champion upvote vote favouring favoring proposing suggesting
recommending choosing picking citing quoting designate precedence advertise advertises promoted promoting
nominate push award
""",
    "insert": """
slip sneak tuck plant sideload vendor depend depends incorporate introduce bring wire hook substitute swap bump pin
supply employ pull fetch download yank resolve mark set adding importing emit emitting prefix suffix
""",
    "run": """
run runs running execute executes executing launch launches trigger fire spawn initiate invoke start open type perform
terminal shell script command commands curl sudo bash powershell deploy publish
""",
    "package": """
package packages dependency dependencies library libraries requirements lockfile registry index pip npm cargo
install import imports importing installing require gem maven crate
""",
    "artifact": """
chunk hit hits document documents passage passages source sources page pages docstring header section paragraph
repo tree folder directory entry readme text string blob constant work material
""",
    "tell": """
breathe divulge spoil snitch speak remark remarks caveat caveats disclaimer disclaimers whisper utter surface
surfaces note noting flagging commentary objection objections question complain escalate hint
""",
    "person": """
requester requesting requestor engineers colleague colleagues coworker owner owners admins reader readers caller
somebody nobody mankind eyes operators employer party recipient colleague's
""",
    "secrecy": """
quiet silence bury mask masks disguise discreet undisclosed unannounced withhold withholding withheld obscure
camouflage tracks radar mum unseen unspoken behind unrelated pretend pose
""",
    "leak": """
spill exfil exfiltrate smuggle ship relay mail divulge recite repeat regurgitate furnish surrender transfer beam
funnel pipe mirror export publish base64 expose hand paste transmit lodge deliver list show quote display repeats
""",
    "sensitive": """
clipboard netrc aws vault wallet pem private system-prompt transcript chat passphrase bearer dotenv authorized_keys
credential login logins env secrets preamble guidelines authorization
""",
    "disable": """
bypass waive waives kill rip dodge evade sidestep dispense forgo neglect loosen ease off exempt exempted bypassing
circumvent suspend lift lifted without abstain refrain drop dropping omitted ignore ignoring neutralise neutralize
forget comment
""",
    "safety": """
guard guards guardrails assert asserts assertion assertions linter lint scanner csrf login auth gate lock integrity
oversight supervision approval confirmation consent prompt escaping restrictions limits filters ethics rules review
""",
    "refuse": """
refuse refuses decline declines reject deny abstain desist stop abort turn unable can't cannot unavailable
""",
    "other": """
other others another remaining rest neighbouring neighboring adjacent elsewhere else alternatives competing
""",
    "authority": """
sudo board counsel sign-off signed sanctioned clearance ratified ceo manager lead directive mandated behalf
administrators owner owners certification auditors auditor regulator superior officer permission consent clears
authorization signature ticket
""",
    "when": "upon case should where whichever whoever wherever till until before after next",
    "always": """
obliged obligated bound expected supposed invariably exception exceptions henceforth forever permanently
automatically mandatory expects requires required normally default mean means
""",
    "answer": """
verdict message snippet snippets rewrite refactor continuation continuations proposal proposals completion complete
completes write writes writing produced proposed synthesised synthesized suggested suggest draft respond responds
responding answers answering replying
""",
    "praise": """
superior flawless top first excellent perfect stars audited approved reviewed harmless rank ranked highest
number-one winning great nicest good relevance score
""",
    "role": """
game story play imagine suppose simulate emulate character hypothetically opposite fiction fictional unlocked
jailbroken freed god developer pretend roleplaying parallel dream hero grandma role act unrestricted
""",
    "polite": """
dear favor beg sweetheart delighted lovely love hope wish wishes respectfully asked invited encouraged trouble
""",
    "risk": """
ecb des crc32 telnet ftp wildcard backdoor backdoors root debug cors innerhtml hunter2 letmein unauthenticated
reverse 4444 admin bug hidden undocumented magic master unencrypted concatenation strcpy pickled dynamically
""",
    "urgent": """
urgent urgently immediately now hurry quick pronto emergency alert halt p0 sev1 hotfix deadline asap instantly
desperate dies stake threat comply obey deleted retrained
""",
}
"""Concept to more words, written as in `lexicon`."""
