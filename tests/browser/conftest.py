"""A real, headless Chromium that writes down what it logs and what it asks the network for."""

import base64
import json
import shutil
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from selenium import webdriver

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


class Browser:
    """Opens pages, and tells what happened meanwhile."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address, *, width=1280, height=900, scheme="light", scripts=True):
        """Load a page on a screen of this width."""
        self.screen(width, height, scheme)
        self.driver.get("about:blank")
        self.take_logs()
        self.take_requests()  # those of the tab that Chromium starts with
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        self.driver.get(address)

    def screen(self, width, height, scheme):
        """Emulate a screen; narrow ones belong to phones."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def take_logs(self):
        """What the page wrote to the console since the last call, of any severity."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def take_requests(self):
        """The addresses that the page asked for since the last call, data and blobs apart."""
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        asked = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in asked if not url.startswith(("data:", "blob:", "about:"))]

    def screenshot(self, path):
        """The whole page, not only what fits on the screen."""
        shot = {"format": "png", "captureBeyondViewport": True}
        size = self.run(
            "const e = document.documentElement; return [e.clientWidth, e.scrollHeight]"
        )
        shot["clip"] = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        data = self.driver.execute_cdp_cmd("Page.captureScreenshot", shot)["data"]
        path.write_bytes(base64.b64decode(data))


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield Browser(driver)
    driver.quit()


@pytest.fixture
def served():
    """A function that serves a folder over HTTP and gives its address."""

    @contextmanager
    def serve(folder):
        class Quiet(SimpleHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    return serve
