"""The page of `espalier evaluate --report`, as a browser lays it out."""
import functools
import http.server
import json
import random
import re
import threading
import unittest

import pytest

from espalier import EspalierTest

import browser  # in tools/lib, which `espalier` puts on the path

pytestmark = pytest.mark.covers("cli", "scoring")

# Shows the page in a frame, and measures its layout.
LOOK = """<!DOCTYPE html><html><body style="margin:0">
<iframe id="page" src="report.html" style="border:0;width:%dpx;height:4000px"></iframe>
<script>
window.onload = () => {
  const inside = document.getElementById("page").contentWindow, page = inside.document;
  const box = (node) => { const r = node.getBoundingClientRect();
                          return [r.left, r.top, r.right, r.bottom]; };
  const charts = [...page.querySelectorAll("svg")].map((svg) => ({
    title: svg.getAttribute("aria-label") || (svg.querySelector("title") || {}).textContent || "",
    box: box(svg),
    texts: [...svg.querySelectorAll("text")].map((t) => ({text: t.textContent, box: box(t)})),
    marks: [...svg.querySelectorAll("polyline,path,rect,line")].map((m) => ({
      kind: m.tagName, box: box(m), length: m.getTotalLength ? m.getTotalLength() : 0})),
  }));
  const report = {
    mode: page.compatMode, charts: charts, title: page.title,
    heads: [...page.querySelectorAll("h1,h2")].map((h) => h.textContent),
    wide: page.documentElement.scrollWidth, width: page.documentElement.clientWidth,
    scripts: page.scripts.length,
    asked: inside.performance.getEntriesByType("resource").map((e) => e.name),
  };
  document.body.textContent = "LOOK" + JSON.stringify(report) + "KOOL";
};
</script></body></html>
"""
WIDTHS = (1100, 420)  # widths of a desktop window and a phone


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class ReportTest(EspalierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            browser.ensure()
        except browser.BrowserError as error:
            raise unittest.SkipTest(str(error)) from error

    def setUp(self):
        super().setUp()
        handler = functools.partial(Quiet, directory=self.directory)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def evaluated(self, data, label, task, **features):
        """Writes a model of the table, and its page on the same rows, in report.html."""
        spec = {"data": {"train": data, "label": label, "validation": {"fraction": 0.2},
                         "features": features},
                "model": {"task": task, "hidden": [16]},
                "train": {"batch": 50, "leaves": 4, "epochs": 8, "seed": 3}}
        self.result("train", self.job("model", spec), "--workers", 1)
        self.espalier("evaluate", self.path("model.bundle"), data, "--report", "report.html")

    def look(self, width):
        """Returns the layout of the page in a window of this width."""
        self.write("look.html", LOOK % width)
        shown = browser.run("http://127.0.0.1:%d/look.html" % self.server.server_address[1],
                            "--dump-dom", "--virtual-time-budget=10000",
                            "--window-size=%d,4000" % (width + 20))
        found = re.search("LOOK(.*)KOOL", shown, re.S)
        self.assertIsNotNone(found, shown[-2000:])
        text = found.group(1)
        for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
            text = text.replace(entity, sign)
        return json.loads(text)

    def assert_legible(self, heads, charts):
        """Checks that the page has these headings and this number of charts, each complete, at any
        width."""
        for width in WIDTHS:
            found = self.look(width)
            self.assertEqual((found["mode"], found["scripts"], found["asked"]),
                             ("CSS1Compat", 0, []))
            self.assertLessEqual(found["wide"], found["width"], "nothing to scroll sideways")
            for head in heads:
                self.assertIn(head, found["heads"])
            self.assertEqual(len(found["charts"]), charts)
            for chart in found["charts"]:
                self.assert_chart(chart)

    def assert_chart(self, chart):
        left, top, right, bottom = chart["box"]
        self.assertGreater(right - left, 250, chart["title"])
        self.assertGreater(bottom - top, 100, chart["title"])
        self.assertTrue(any(m["length"] > 50 for m in chart["marks"]), chart["title"])
        boxes = [t["box"] for t in chart["texts"] if t["text"].strip()]
        self.assertGreater(len(boxes), 5, "names and numbers of the axes")
        for a in boxes:
            inside = a[0] >= left - 1 and a[1] >= top - 1 and a[2] <= right + 1 and \
                a[3] <= bottom + 1
            self.assertTrue(inside, "a text is cut off: %s in %s" % (a, chart))
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                apart = a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 2 or b[3] <= a[1] + 2
                self.assertTrue(apart, "texts lie on each other: %s and %s in %s" %
                                (a, b, chart["title"]))

    def test_two_classes_have_their_curves(self):
        chance = random.Random(4)
        lines = ["a,b,kind"]
        for _ in range(600):
            a, b = chance.gauss(0, 1), chance.gauss(0, 1)
            lines.append("%.4f,%.4f,%s" % (a, b, "<yes> & so" if a + b > 0.2 else "no"))
        self.evaluated(self.write("two.csv", "\n".join(lines) + "\n"), "kind", "classification")
        self.assert_legible(["Metrics", "Confusion matrix", "Threshold"], 5)

    def test_many_classes_have_a_matrix_that_scrolls_by_itself(self):
        self.evaluated(self.classes_csv("many.csv", 900, classes=30), "label", "classification")
        self.assert_legible(["Metrics", "By class", "Confusion matrix"], 2)

    def test_a_regression_has_its_residuals(self):
        self.evaluated(self.houses_csv("houses.csv", 800), "price", "regression", nulls="mean")
        self.assert_legible(["Metrics", "Residuals of price"], 4)


if __name__ == "__main__":
    unittest.main()
