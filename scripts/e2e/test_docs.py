"""The documents, as what they are: commands that work, configurations that the server accepts, links that lead
somewhere, and texts that the server prints.

A code block is a list of commands, a configuration of the server, or something else. Which it is follows from its first
word; something else needs a language at its fence, or a line in OTHER. A command is run (lib/documented.py), or has a
line with the reason in NOT_RUN. So what a writer adds is tested, or the test fails and says what to do."""

import re
import subprocess

import pytest

from lib import documents
from lib.documented import Sandbox
from lib.printed import is_printed
from lib.server import ROOT

# Programs that a test may start for a document. What else a document names goes to NOT_RUN.
RUN = {
    "cat", "curl", "ffmpeg", "ffplay", "ffprobe", "find", "google-pprof", "grep", "kill", "mv", "objs/srs", "openssl",
    "python3", "research/scale.py", "scripts/sign_url", "sort", "tail", "uniq",
}  # fmt: skip
# What a command begins with that is not run here, and why.
NOT_RUN = {
    "scripts/run": "test_run.py runs it",
    "scripts/cluster": "test_cluster.py runs it",
    "objs/srs why": "it asks the API of the configuration, which is another one here; test_why_url.py runs it",
    "grep 'DELETE": "nobody is kicked here; test_accounts.py runs it",
    "scripts/test": "it is what runs this test",
    ".ci/run": "it is what runs this test",
    "./configure": "the server is built already; test_builds.py configures",
    "make": "the server is built already, and scripts/test makes the other goals",
    "google-pprof --svg": "the profile of an idle server has no samples to draw; test_debug.py reads profiles",
    "apt install": "it changes the machine",
    "curl -d '{\"app\":": "the server has no signed URLs; test_console_share.py has it sign",
    "curl -X POST http://127.0.0.1:8080/api/v1/bandwidth": "checks are off by default; test_players_check.py begins one",
    "curl -o down.bin": "it takes the id of a check; test_players_check.py transfers",
    "curl -O -J": "it takes a recording of that name; test_overview.py downloads one",
    "curl -X DELETE http://127.0.0.1:1985/api/v1/upgrade": "there is no earlier process; test_upgrade_view.py ends one",
    "scripts/check_web": "scripts/test runs it",
    "tar -xzf": "it takes a release; scripts/check_dist unpacks and starts one",
    "docker": "no image can be fetched here; scripts/check_image runs the steps of the Dockerfile",
    "cd packaging/kubernetes": "it changes the manifests",
    "kubectl": "there is no cluster; test_kubernetes.py builds and checks the manifests",
    "ln -s": "it changes the machine",
    "systemctl": "it takes an installed package; scripts/check_deb installs it",
    "/usr/local/srs/etc/init.d/srs": "it takes an installed server; test_install.py runs it",
    "useradd": "it changes the machine",
    "install -d -o srs": "it needs the user that useradd makes",
    "python3 -m venv objs/plots": "it downloads packages",
    "objs/plots/bin/python": "it measures for half an hour",
    "objs/bench": "it measures with up to 10,000 connections; test_load.py runs it",
    "research/compare/get_mediamtx.sh": "it downloads sources",
    "research/compare.py": "it measures for minutes",
    "research/soak.py": "it takes half an hour",
    "research/hls_check.py": "it follows a stream for a minute; test_hls_check.py runs it",
    "objs/disk": "it measures a disk for minutes",
}
# Blocks that are neither commands nor configurations: their first line, and what they are.
OTHER = {
    "doc/adding-a-protocol.md": {"struct Vhost": "C++", "void add_rows(": "C++", "config::Section section()": "C++"},
    "doc/console.md": {"location /media/ {": "nginx, and test_pages.py runs it"},
    "doc/diagnostics.md": {
        "rtmp [": "output", "the loop stalled": "log", "sender thread 1 stalled": "log", "UDP: datagrams were lost": "log", "__defaultVhost__/live/cam": "log",
        "http ended": "log",
    },
    "doc/forward.md": {'{"server_id"': "JSON", '{"code"': "JSON"},
    "doc/hls.md": {"proxy_cache_path": "nginx, and test_hls_shield.py runs it", "map $uri": "the same"},
    "doc/hooks.md": {"def verify": "Python", "ACTION ": "a format"},
    "doc/metrics.md": {"scrape_configs:": "prometheus.yml"},
    "doc/reload.md": {"reload: ": "log", '{"code":0': "JSON"},
    "doc/players.md": {"http://": "addresses"},
    "doc/security.md": {"[2026-": "log", "[srs]": "fail2ban"},
    "doc/webrtc.md": {"POST http": "requests"},
}
SHELL = re.compile(r"(\$ |[A-Z_]+=\S* )*(\S+)")


def program(line):
    """The first program of a line, without the prompt and variables before it."""
    return SHELL.match(line)[2].removeprefix("./")


def is_command(line):
    word = program(line)
    begins = any(re.match(rf"{re.escape(start)}(\s|$)", bare(line)) for start in NOT_RUN)
    return begins or word in RUN or re.match(r"(objs|scripts|research|\.ci)/", word) is not None


def bare(line):
    return re.sub(r"^(\$ |[A-Z_]+=\S* )*", "", line)


def depth(text):
    text = re.sub(r"#.*", "", text)
    return text.count("{") - text.count("}")


def kind_of(part):
    lines = re.sub(r"\\\n\s*", "", part.text).splitlines()
    first = next((line for line in lines if not line.startswith("#")), "")
    if any(first.startswith(start) for start in OTHER.get(part.document, {})):
        return "other"
    if is_command(first):
        return "commands"
    names = documents.directives()
    word = re.match(r"[a-z_]*", first)[0]
    if word in names.top or word in names.vhost:
        return "configuration"
    return "unknown"


def parts(document):
    """(kind, Block) of each. A configuration may have empty lines; other blocks are parted by them."""
    for block in documents.split(document)[0]:
        if block.language not in ("", "sh", "conf"):
            continue
        found = []
        for part in documents.paragraphs(block):
            if found and found[-1][0] != "commands":
                kind, last = found[-1]
                if depth(last.text) > 0 or (kind == "configuration" and kind_of(part) == kind):
                    found[-1] = (kind, last._replace(text=last.text + "\n\n" + part.text))
                    continue
            found.append((kind_of(part), part))
        yield from found


def commands(document):
    """(line, text) of each, with continued lines as one."""
    for kind, part in parts(document):
        if kind != "commands":
            continue
        lines = part.text.splitlines()
        if any(line.startswith("$ ") for line in lines):
            lines = [line[2:] if line.startswith("$ ") else "" for line in lines]
        text, begin = "", part.line
        for number, line in enumerate(lines, part.line):
            if not text:
                begin = number
            text += line.strip() + " "
            if re.search(r"(\\|\||&&)\s*$", line):
                text = re.sub(r"\\\s*$", "", text)
                continue
            if text.strip() and not text.startswith("#"):
                yield begin, text.strip()
            text = ""


def reason_not_to_run(command):
    return next((start for start in NOT_RUN if re.match(rf"(\./)?{re.escape(start)}(\s|$)", command)), None)


def unknown_programs(command):
    text = re.sub(r"\s#.*", "", command)
    text = re.sub(r"\"[^\"]*\"|'[^']*'", "x", text)
    text = re.sub(r"\$\(([^)]*)\)", r"; \1;", text)
    return {program(one.strip()) for one in re.split(r"\|\||\||&&|;", text) if one.strip()} - RUN


PAGES = documents.pages()


@pytest.fixture
def sandbox(tmp_path, certificate):
    made = Sandbox(tmp_path / "clone", certificate)
    yield made
    made.close()


def test_each_block_is_of_a_kind():
    unknown = [
        f"{part.where()}: {part.text.splitlines()[0]}"
        for page in PAGES
        for kind, part in parts(page)
        if kind == "unknown"
    ]
    assert not unknown, (
        "these blocks are neither commands nor configurations: give them a language (```text), or a line in OTHER:\n"
        + "\n".join(unknown)
    )
    for page, starts in OTHER.items():
        firsts = [part.text for kind, part in parts(page) if kind == "other"]
        for start in starts:
            assert any(text.startswith(start) for text in firsts), f"{page} has no block {start!r}, which OTHER names"


def test_each_command_is_run_or_has_a_reason():
    everything = [(page, line, text) for page in PAGES for line, text in commands(page)]
    assert len(everything) > 60, f"the commands of the documents should be found, there are {len(everything)}"
    lost = [
        f"{page}:{line}: {text}\n    {', '.join(sorted(unknown))}"
        for page, line, text in everything
        if not reason_not_to_run(text) and (unknown := unknown_programs(text))
    ]
    assert not lost, "these commands use programs that are neither in RUN nor in NOT_RUN:\n" + "\n".join(lost)
    used = {reason_not_to_run(text) for _, _, text in everything}
    assert not (idle := set(NOT_RUN) - used), f"no document has these any more: {idle}"


def has_commands(page):
    return any(not reason_not_to_run(text) for _, text in commands(page))


@pytest.mark.parametrize("page", list(filter(has_commands, PAGES)))
def test_commands(page, sandbox):
    problems = []
    for line, text in commands(page):
        if reason_not_to_run(text) or unknown_programs(text):
            continue
        if problem := sandbox.run(text):
            problems.append(f"{page}:{line}: {problem}")
    assert not problems, "\n\n".join(problems)


def completed(text):
    """A whole configuration, made of what is shown of one."""
    names = documents.directives()
    word = re.match(r"[a-z_]*", re.sub(r"^(#.*\n|\s)*", "", text))[0]
    if word not in names.top:
        text = "vhost __defaultVhost__ {\n" + text + "\n}"
    if not re.search(r"^(rtmp\s*\{|listen\s)", text, re.MULTILINE):
        text = "listen 1935;\n" + text
    if not re.search(r"^vhost\s", text, re.MULTILINE):
        text += "\nvhost __defaultVhost__ { }\n"
    return text


def test_configurations(sandbox):
    """No error in any that is shown, and no warning in those that are shown as a block."""
    problems, count = [], 0
    for page in PAGES:
        shown = [(part.line, part.text, True) for kind, part in parts(page) if kind == "configuration"]
        shown += [(line, text, False) for line, text in documents.spans(page) if is_whole_block(text)]
        for line, text, strictly in shown:
            count += 1
            code, said = sandbox.check(completed(text))
            if code or (strictly and ", 0 warnings" not in said):
                problems.append(f"{page}:{line}: {text}\n{said}")
    assert count > 40, f"the configurations of the documents should be found, there are {count}"
    assert not problems, "\n\n".join(problems)


def is_whole_block(text):
    names = documents.directives()
    word = re.match(r"[a-z_]*", text)[0]
    is_one = re.match(r"[a-z_]+ \{.*; ?\}[ }]*$", text) and depth(text) == 0
    return bool(is_one and (word in names.top or word in names.vhost)) and not re.search(r"\.\.\.|[A-Z]{3,}", text)


def test_directives_in_the_text():
    """`name value;` is a directive of the server, and so is a name in the column "here" of a table."""
    known = documents.directives().all
    unknown = []
    for page in PAGES:
        for line, text in documents.spans(page):
            directive = re.match(r"([a-z][a-z_0-9]*) [^;{}]+;$", text)
            if directive and directive[1] not in known and not directive[1].startswith("proxy_"):  # nginx's
                unknown.append(f"{page}:{line}: {text}")
        if page.startswith("doc/coming-from-"):
            unknown += unknown_in_tables(page, known)
    assert not unknown, "these are no directives of this server:\n" + "\n".join(unknown)


def unknown_in_tables(page, known):
    for number, line in documents.split(page)[1]:
        cells = line.strip("| ").split(" | ")
        if not line.startswith("|") or len(cells) != 2:
            continue
        for span in re.findall(r"`([^`]+)`", cells[1]):
            for word in re.findall(r"(?<![\w./:\[-])[a-z]+_[a-z_0-9]+(?![\w./:])", span):
                if word not in known and word not in WORDS_OF_TABLES:
                    yield f"{page}:{number}: {word}"


# Fields of hooks and of the API, and values, in these tables.
WORDS_OF_TABLES = {"client_id", "server_version"}


def test_links():
    broken = []
    for page in documents.everything():
        for line, target in documents.links(page):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = ((ROOT / page).parent / path).resolve() if path else ROOT / page
            if not file.exists():
                broken.append(f"{page}:{line}: {target}: there is no such file")
            elif anchor and anchor not in documents.anchors(str(file.relative_to(ROOT))):
                broken.append(f"{page}:{line}: {target}: it has no such heading")
    assert not broken, "links that lead nowhere:\n" + "\n".join(broken)


def test_figures():
    """The figures in README.md and in doc/performance.md are those of doc/figures.md."""
    rows = [line for line in (ROOT / "doc/figures.md").read_text().splitlines() if line.startswith("|")]
    measured = {cell.strip() for line in rows for cell in line.split("|")}
    digest = (ROOT / "doc/performance.md").read_text().partition("\n## Figures\n")[2].partition("\n## ")[0]
    lines = [line for _, line in documents.split("README.md")[1]] + digest.splitlines()
    shown = [line for line in lines if re.match(r"\| [^|]+\|.*\| [\d.]+ \|", line)]
    figures = [cell.strip() for line in shown for cell in line.split("|")[2:]]
    figures = [figure for figure in figures if figure]
    assert len(figures) > 50, f"the figures of both pages should be found: {figures}"
    other = [figure for figure in figures if figure not in measured]
    assert not other, f"not in doc/figures.md: {other}"


# The example of doc/adding-a-protocol.md, and what a user makes.
NOT_IN_THE_REPOSITORY = ("src/protocol/srt", "src/service/srt")


def test_paths():
    """Files of the repository that the text names are there."""
    missing = []
    for page in PAGES:
        for line, text in documents.spans(page):
            for path in re.findall(r"(?<![\w/.-])(?:conf|scripts|src|research|doc)/[\w./*-]*[\w*]/?", text):
                if not any(ROOT.glob(path)) and not path.startswith(NOT_IN_THE_REPOSITORY):
                    missing.append(f"{page}:{line}: {path}")
    assert not missing, "these are not in the repository:\n" + "\n".join(missing)


def test_width():
    wide = []
    for page in documents.everything():
        if page not in documents.GENERATED:
            wide += [
                f"{page}:{line}: {len(text)} columns"
                for line, text in documents.split(page)[1]
                if len(text) > 120 and not text.startswith("|")
            ]
    assert not wide, "lines of more than 120 columns:\n" + "\n".join(wide)


def test_printed_texts():
    """What doc/troubleshooting.md says that the server prints is in the server, and every check of explain is there."""
    page = "doc/troubleshooting.md"
    wrong, count = [], 0
    column = None
    for number, line in documents.split(page)[1]:
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            column = None
        elif column is None:
            titles = ("the server prints", "the doctor prints", "log line", "`text` of the closed client")
            column = next((index for index, title in enumerate(cells) if title in titles), -1)
        elif column >= 0 and not line.startswith("|-"):
            for text in re.findall(r"`([^`]+)`", cells[column]):
                count += 1
                if not is_printed(text):
                    wrong.append(f"{page}:{number}: {text}")
    assert count > 40, f"the texts should be found, there are {count}"
    assert not wrong, "the server does not print these:\n" + "\n".join(wrong)
    health = (ROOT / "doc/why.md").read_text().partition("## Health of a stream")[2]
    checks = re.findall(r"^\| `(\w+)` \|", health, re.MULTILINE)
    text = (ROOT / page).read_text()
    assert len(checks) == 17, f"the checks should be found in doc/why.md: {checks}"
    assert not (left := [check for check in checks if f"`{check}`" not in text]), f"{page} leaves out {left}"


def test_the_command_for_one_test_installs_what_it_needs():
    """In a new clone there is no objs/venv: CONTRIBUTING's command makes it before it runs the test."""
    command = ["make", "e2e", "TEST=scripts/e2e/test_publish.py"]
    assert f"`{' '.join(command)}`" in (ROOT / "CONTRIBUTING.md").read_text(), "it is what CONTRIBUTING says"
    done = subprocess.run([*command, "-n"], cwd=ROOT, capture_output=True, text=True, check=True)
    steps = [line for line in done.stdout.splitlines() if "scripts/test --python" in line or "-m pytest" in line]
    assert len(steps) == 2 and steps[0].endswith("--python") and steps[1].endswith("scripts/e2e/test_publish.py"), done.stdout[-500:]
