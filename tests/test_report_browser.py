"""Reports in a real Chromium: they render, without errors or network, in both themes, on a phone, and on paper.

Needs Debian's chromium and chromium-driver (``make browser``); without them these tests are skipped, unless
GEOLAP_REQUIRE_BROWSER is set.
"""

import base64
import json
import os
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import geolap
from geolap.datasets import make_swiss_roll
from geolap.display.report import write_report

pytestmark = pytest.mark.browser
HOSTILE = "</script><script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(20, 23, 27)"


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and chromedriver):
        if os.environ.get("GEOLAP_REQUIRE_BROWSER"):
            pytest.fail("Reports must be looked at in a browser; chromium or chromedriver is missing: run make browser.")
        pytest.skip("chromium or chromedriver is missing: make browser installs them on Debian.")
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = chromium
    profile = tmp_path_factory.mktemp("profile")
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = Chrome(options=options, service=Service(chromedriver))
    browser.set_page_load_timeout(60)
    yield browser
    browser.quit()


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    X = make_swiss_roll(400, random_state=0).data
    labels = np.resize([HOSTILE, IMAGE, "plain"], len(X))
    return write_report(tmp_path_factory.mktemp("report") / "re port.html", X, labels=labels, name=HOSTILE, random_state=0)


class Page:
    """A page in the browser, with what is asked of it."""

    def __init__(self, driver, path, *, width=1200, dark=False):
        self.driver = driver
        self.run = driver.execute_script
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        self.command("Emulation.setDeviceMetricsOverride", **size)
        theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.command("Emulation.setEmulatedMedia", features=theme)
        for log in ("browser", "performance"):
            driver.get_log(log)  # what was before
        driver.get(path.as_uri())
        self.wait("document.documentElement.dataset.ready !== undefined")

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def wait(self, condition):
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 60).until(lambda driver: driver.execute_script(f"return {condition}"))

    def color(self, selector, name="color"):
        return self.run(f"return getComputedStyle(document.querySelector({selector!r}))[{name!r}]")

    def requests(self):
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("data:", "blob:"))]


@pytest.fixture
def desktop(driver, report):
    """The page as first opened, with what the logs said then."""
    page = Page(driver, report)
    page.errors, page.asked = driver.get_log("browser"), page.requests()
    return page


def test_a_report_renders_without_a_word_in_the_console(desktop):
    assert desktop.errors == []
    assert desktop.run("return document.querySelectorAll('.chart .main-svg').length") >= 6
    assert desktop.run("return document.querySelectorAll('#map1 .point').length") == 400
    assert desktop.run("return document.querySelectorAll('#clusters0 .point').length") == 400
    assert desktop.run("return document.querySelectorAll('#coordinates0 .point').length") >= 20


def test_a_report_asks_for_nothing_but_itself(desktop, report):
    assert desktop.asked == [report.as_uri()]


def test_the_policy_stops_network_and_scripts(driver, report):
    page = Page(driver, report)
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        fetched = driver.execute_async_script(
            "const done = arguments[1]; fetch(arguments[0]).then(() => done('answer'), () => done('refused'))", address
        )
        server.shutdown()
    assert fetched == "refused"
    assert asked == []
    page.run(
        "const script = document.createElement('script'); script.textContent = 'window.ran = true';"
        "document.head.append(script)"
    )
    assert page.run("return window.ran") is None


def test_hostile_names_are_text_and_nothing_else(desktop):
    assert HOSTILE in desktop.run("return document.querySelector('h1').textContent")
    keys = desktop.run("return [...document.querySelectorAll('#maps .key li')].map((item) => item.textContent)")
    assert {HOSTILE, IMAGE} <= set(keys)
    assert desktop.run("return document.querySelectorAll('img').length") == 0
    assert desktop.run("return document.scripts.length") == 4  # figures, plotly twice: packed and unpacked, the page's own


def hovered(page, chart, place):
    """Text of the label that appears when the mouse comes to a place in a chart."""
    page.run(f"document.getElementById({chart!r}).scrollIntoView({{block: 'center'}})")
    x, y = page.run(place)
    for step in (3, 0):
        page.command("Input.dispatchMouseEvent", type="mouseMoved", x=x + step, y=y)
    page.wait(f"document.querySelector('#{chart} .hoverlayer .hovertext') !== null")
    return page.run(f"return document.querySelector('#{chart} .hoverlayer').textContent")


def test_hovering_the_curve_tells_the_value(desktop):
    place = """
        const box = document.querySelectorAll('#curve .trace')[2].querySelector('.point').getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];"""
    text = hovered(desktop, "curve", place)
    assert "ε = " in text
    assert "score" in text


def test_hovering_a_map_tells_row_and_label_as_text(desktop):
    place = """
        const box = document.querySelectorAll('#map1 .trace')[0].querySelector('.point').getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];"""
    text = hovered(desktop, "map1", place)
    assert "row " in text
    assert any(word in text for word in (HOSTILE, IMAGE, "plain"))


def test_colors_follow_the_system_and_the_button(driver, report):
    page = Page(driver, report, dark=True)
    assert page.color("body", "backgroundColor") == DARK
    ticks = page.color("#curve .xtick text", "fill")
    page.run("document.getElementById('theme').click()")
    assert page.color("body", "backgroundColor") == LIGHT
    page.wait(f"getComputedStyle(document.querySelector('#curve .xtick text')).fill !== {ticks!r}")
    page.run("document.getElementById('theme').click()")
    assert page.color("body", "backgroundColor") == DARK
    assert Page(driver, report).color("body", "backgroundColor") == LIGHT
    assert driver.get_log("browser") == []


CONTRAST = """
    const light = (color) => {
      const [r, g, b] = color.match(/[\\d.]+/g).map((v) => v / 255).map((v) =>
        v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    return arguments[0].map((selector) => {
      const style = getComputedStyle(document.querySelector(selector));
      const ink = light(selector.includes("svg") ? style.fill : style.color);
      return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    });"""


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_the_page(driver, report, dark):
    page = Page(driver, report, dark=dark)
    texts = ["h1", "h1 .number", ".lead", ".facts dt", ".key li", "summary", "footer p", "#curve svg .xtick text"]
    assert min(page.run(CONTRAST, texts)) > 4.5


@pytest.mark.parametrize("width", [320, 400])
def test_a_phone_need_not_scroll_sideways(driver, report, width):
    page = Page(driver, report, width=width)
    page.run("document.querySelectorAll('details').forEach((part) => (part.open = true))")
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert (
        page.run("return Math.max(...[...document.querySelectorAll('.chart .main-svg')].map((s) => s.clientWidth))") <= width
    )


def test_code_is_copied_as_it_stands(driver, report):
    page = Page(driver, report)
    page.command("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    button = driver.find_element("css selector", "button[data-copy=code0]")
    page.run("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    page.wait("document.querySelector('button[data-copy=code0]').textContent === 'Copied'")
    page.run(
        "const area = document.createElement('textarea'); area.id = 'pasted'; document.body.prepend(area); area.focus();"
    )
    pasted = driver.execute_async_script("navigator.clipboard.readText().then(arguments[0], (e) => arguments[0](String(e)))")
    assert pasted == page.run("return document.getElementById('code0').textContent")
    assert "geolap.GraphLaplacian(bandwidth)" in pasted


def test_paper_is_white_whatever_the_screen(driver, report):
    page = Page(driver, report, dark=True)
    page.run(
        "window.seen = null; addEventListener('beforeprint', () => { const style = (s) => getComputedStyle("
        "document.querySelector(s)); window.seen = [style('body').backgroundColor, style('#curve .xtick text').fill]; });"
    )
    pdf = base64.b64decode(page.command("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)["data"])
    assert pdf.startswith(b"%PDF")
    background, ticks = page.run("return window.seen")
    assert background == LIGHT
    assert ticks == "rgb(87, 96, 106)"
    page.wait(f"getComputedStyle(document.body).backgroundColor === {DARK!r}")  # and back
    page.command("Emulation.setEmulatedMedia", media="print")
    assert page.color("#theme", "display") == "none"
    assert page.color("figure", "breakInside") == "avoid"
    page.command("Emulation.setEmulatedMedia", media="")


def test_a_page_from_a_selection_alone_renders(driver, tmp_path):
    selection = geolap.select_bandwidth(make_swiss_roll(300, random_state=0).data, random_state=0)
    path = tmp_path / "selection.html"
    path.write_text(selection.to_html(name=IMAGE), encoding="utf-8")
    page = Page(driver, path)
    assert driver.get_log("browser") == []
    assert page.run("return document.querySelectorAll('.chart .main-svg').length") > 0
    assert IMAGE in page.run("return document.querySelector('h1').textContent")


def test_notebook_output_follows_the_text_around_it(driver, tmp_path):
    selection = geolap.select_bandwidth(make_swiss_roll(300, random_state=0).data, random_state=0)
    path = tmp_path / "cell.html"
    path.write_text(
        "<!DOCTYPE html><html data-ready><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        "<body style='background:#111;color:rgb(238,238,238)'>" + selection._repr_html_(),
        encoding="utf-8",
    )
    page = Page(driver, path, width=400)
    assert page.color("polyline", "stroke") == "rgb(238, 238, 238)"
    assert page.run("return document.documentElement.scrollWidth") <= 400
