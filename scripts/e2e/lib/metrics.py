"""What the exporter says to Prometheus."""

from prometheus_client.parser import text_string_to_metric_families

from . import http

# The ports of RTMPS and HTTPS are free in these tests.
EXPORTER = "exporter { enabled on; listen 127.0.0.1:RTMPS_PORT; %s }\n"


def scrape(server, **headers):
    response = http.get(server.rtmps_port, "/metrics", **headers)
    assert response.status == 200, f"/metrics should be answered with 200: {response.describe()}"
    return response


class Metrics:
    def __init__(self, server):
        self.text = scrape(server).body.decode()
        self.families = {}
        for family in text_string_to_metric_families(self.text):
            # The parser takes the ending off a counter's name.
            name = family.name + ("_total" if family.type == "counter" else "")
            assert name not in self.families, f"{name} should be there once\n{self.text}"
            self.families[name] = family

    def value(self, name, **labels):
        """The sample's value that has these labels; None: there is none."""
        found = [
            sample.value
            for family in self.families.values()
            for sample in family.samples
            if sample.name == name and all(sample.labels.get(key) == value for key, value in labels.items())
        ]
        assert len(found) <= 1, f"one sample {name}{labels}; there are {found}\n{self.text}"
        return found[0] if found else None
