"""packaging/kubernetes: manifests that fit together, and configurations that the server and nginx accept. scripts/cluster runs
the same configurations (test_cluster.py)."""

import re
import shutil
import subprocess

import pytest
import yaml

from lib.server import ROOT, run_once

HOME = ROOT / "packaging/kubernetes"
WORKLOADS = ("Deployment", "StatefulSet")
CONFIGURATIONS = sorted(path.name for path in HOME.glob("conf/*.conf") if path.name != "cache.conf")


def documents(path):
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


KUSTOMIZATION = documents(HOME / "kustomization.yaml")[0]
MANIFESTS = [one for name in KUSTOMIZATION["resources"] for one in documents(HOME / name)]


def of_kind(*kinds):
    return {one["metadata"]["name"]: one for one in MANIFESTS if one["kind"] in kinds}


def template(workload):
    return workload["spec"]["template"]


def container(workload):
    (one,) = template(workload)["spec"]["containers"]
    return one


def ports(workload):
    return {one["name"]: one for one in container(workload)["ports"]}


def listens(text):
    """The ports of a configuration of ours or of nginx."""
    return {int(port) for line in re.findall(r"^\s*listen\s+([^;]+);", text, re.MULTILINE) for port in line.split()}


def test_every_file_is_used_and_whole():
    used = {HOME / name for name in KUSTOMIZATION["resources"]} | {HOME / "kustomization.yaml"}
    assert used == set(HOME.rglob("*.yaml")), "kustomization.yaml should name each file, and each should be there"
    for one in MANIFESTS:
        assert {"apiVersion", "kind", "metadata"} <= one.keys() and one["metadata"]["name"], f"no manifest: {one}"
    names = [(one["kind"], one["metadata"]["name"]) for one in MANIFESTS]
    assert len(names) == len(set(names)), f"two manifests have one name: {names}"


def test_pods_have_their_configuration():
    made = {one["name"]: [word.rpartition("=")[0] or word.rpartition("/")[2] for word in one["files"]] for one in KUSTOMIZATION["configMapGenerator"]}
    files = {one["name"]: HOME / one["files"][0].rpartition("=")[2] for one in KUSTOMIZATION["configMapGenerator"]}
    for name, workload in of_kind(*WORKLOADS).items():
        if name == "redis":
            continue  # its options are in the command
        volumes = {one["name"]: one for one in template(workload)["spec"]["volumes"]}
        mounts = {one["name"]: one["mountPath"] for one in container(workload)["volumeMounts"]}
        assert mounts.keys() <= volumes.keys(), f"{name}: {mounts} are of {volumes}"
        words = container(workload)["command"]
        directory, _, file = words[words.index("-c") + 1].rpartition("/")
        volume = next(one for one, path in mounts.items() if path == directory)
        assert file in made[volumes[volume]["configMap"]["name"]], f"{name} is started with {file}, of {made}"
        declared = {one["containerPort"] for one in ports(workload).values()}
        listening = listens(files[volumes[volume]["configMap"]["name"]].read_text())
        assert declared <= listening, f"{name} declares {declared}, the configuration listens on {listening}"


def test_services_reach_their_pods():
    workloads = of_kind(*WORKLOADS)
    for name, service in of_kind("Service").items():
        selector = dict(service["spec"]["selector"])
        pod = selector.pop("statefulset.kubernetes.io/pod-name", None)
        home = workloads[selector["app"]]
        assert selector.items() <= template(home)["metadata"]["labels"].items(), f"{name} selects nothing: {selector}"
        if pod:
            assert pod in [f"{selector['app']}-{i}" for i in range(home["spec"]["replicas"])], f"{name}: there is no pod {pod}"
        for port in service["spec"]["ports"]:
            assert port["targetPort"] in ports(home), f"{name}: no port {port['targetPort']} in {ports(home)}"
    for name, workload in workloads.items():
        assert workload["spec"]["selector"]["matchLabels"].items() <= template(workload)["metadata"]["labels"].items(), name
    for name, one in of_kind("HorizontalPodAutoscaler").items():
        assert one["spec"]["scaleTargetRef"]["name"] in of_kind("Deployment"), f"{name} scales nothing"
    for name, one in of_kind("PodDisruptionBudget").items():
        assert one["spec"]["selector"]["matchLabels"]["app"] in workloads, f"{name} is about nothing"
    for name, one in of_kind("NetworkPolicy").items():
        home = workloads[one["spec"]["podSelector"]["matchLabels"]["app"]]
        (rule,) = one["spec"]["ingress"]
        assert all(port["port"] in ports(home) for port in rule["ports"]), f"{name}: {rule} and {ports(home)}"
        allowed = {app for source in rule["from"] for match in source["podSelector"]["matchExpressions"] for app in match["values"]}
        asking = {path.stem for path in HOME.glob("conf/*.conf") if re.search(r"^redis \{", path.read_text(), re.MULTILINE)}
        assert allowed == asking <= workloads.keys(), f"{name}: {allowed} may ask it, {asking} do"


def test_configurations_name_services():
    """Hosts in them, with the ports that these services have; origins register an address of their pod."""
    services = of_kind("Service")
    asked = []
    for path in HOME.glob("conf/*.conf"):
        text = re.sub("#.*", "", path.read_text())
        for line in re.findall(r"\b(?:origin|server)\s+([^;{]+);", text):
            asked += [(path.name, word) for word in line.split()]
    assert len(asked) == 9, f"two origins of edges and packagers, two packagers of caches, Redis of all servers: {asked}"
    for file, word in asked:
        host, _, port = word.partition(":")
        assert host in services, f"{file}: there is no service {host}"
        assert int(port or {"redis": 6379}.get(host, 1935)) in [one["port"] for one in services[host]["spec"]["ports"]], f"{file}: {word}"
    origin = of_kind("StatefulSet")["origin"]
    environment = {one["name"]: one for one in container(origin)["env"]}
    assert environment["POD_IP"]["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP", environment["POD_IP"]
    said = dict(re.findall(r"(rtmp|http)://\$\(POD_IP\):(\d+)", environment["SRS_REDIS_ADVERTISE"]["value"]))
    assert {name: int(port) for name, port in said.items()} == {name: ports(origin)[name]["containerPort"] for name in ("rtmp", "http")}, said
    assert list(environment).index("POD_IP") < list(environment).index("SRS_REDIS_ADVERTISE"), "a variable is defined before its use"


def test_probes_and_ends():
    """Probes of paths that the server has; a graceful end that is over before the pod is killed."""
    for name, workload in of_kind(*WORKLOADS).items():
        one = container(workload)
        if name == "redis":
            assert one["readinessProbe"]["exec"]["command"][0] == "redis-cli", one["readinessProbe"]
            continue
        for probe in ("livenessProbe", "readinessProbe"):
            get = one[probe]["httpGet"]
            assert get["path"] in ("/healthz", "/readyz") and get["port"] in ports(workload), f"{name}: {probe} {get}"
        assert one["lifecycle"]["preStop"]["exec"]["command"], name
        if one["image"] != "srs":
            continue
        waits = dict(re.findall(r"^grace_(\w+)\s+(\d+);", (HOME / f"conf/{name}.conf").read_text(), re.MULTILINE))
        needs = (int(waits["start_wait"]) + int(waits["limit"])) / 1000 + 3.2
        term = template(workload)["spec"]["terminationGracePeriodSeconds"]
        assert needs < term, f"{name}: a graceful end may take {needs} s, the pod is killed after {term} s"


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_server_accepts(tmp_path, name):
    code, text = run_once("-t", "-c", str(HOME / "conf" / name), directory=tmp_path, CANDIDATE="192.0.2.1")
    assert code == 0 and "0 warnings" in text, text


def test_nginx_accepts(tmp_path):
    if not shutil.which("nginx"):
        pytest.skip("nginx is not installed")
    text = re.sub(r"packager-\d", "127.0.0.1", (HOME / "conf/cache.conf").read_text()).replace("/tmp/", f"{tmp_path}/")
    (tmp_path / "nginx.conf").write_text(text)
    done = subprocess.run(["nginx", "-t", "-e", "stderr", "-c", tmp_path / "nginx.conf"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"nginx -t:\n{done.stderr}"


def test_kustomize_builds_them(tmp_path):
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not installed")
    shutil.copytree(HOME, tmp_path / "kubernetes")
    done = subprocess.run(["kubectl", "kustomize", tmp_path / "kubernetes"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"kubectl kustomize:\n{done.stderr}"
    built = [one for one in yaml.safe_load_all(done.stdout) if one]
    assert len(built) == len(MANIFESTS) + len(KUSTOMIZATION["configMapGenerator"]), [one["kind"] for one in built]
    maps = [one["metadata"]["name"] for one in built if one["kind"] == "ConfigMap"]
    mounted = [volume["configMap"]["name"] for one in built if one["kind"] in WORKLOADS
               for volume in one["spec"]["template"]["spec"].get("volumes", []) if "configMap" in volume]  # fmt: skip
    assert sorted(maps) == sorted(mounted), f"each pod should mount its configuration: {maps}, {mounted}"
