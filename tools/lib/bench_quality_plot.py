"""Draws errors against CPU seconds as an SVG file, for bench_quality_parts.py."""
import html
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 460, 70, 150, 40, 50
COLORS = ["#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2", "#97bbf5", "#9c6b4e",
          "#9498a0"]


def ticks(low, high):
    """Returns values 1, 2 and 5 times powers of ten between low and high."""
    found = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        found += [step * 10.0 ** power for step in (1, 2, 5)]
    return [value for value in found if low <= value <= high]


def curves(title, lines):
    """Returns the text of an SVG file. `lines`: {name: [(CPU seconds, error relative to the middle
    point), ..]}. The axis of the CPU seconds is logarithmic."""
    points = [point for line in lines.values() for point in line]
    seconds, errors = ([point[i] for point in points] for i in (0, 1))
    left, right = math.log(min(seconds) / 1.2), math.log(max(seconds) * 1.2)
    margin = 0.1 * max(max(errors) - min(errors), 0.01)
    low, high = min(errors) - margin, max(errors) + margin

    def x(value):
        return LEFT + (math.log(value) - left) / (right - left) * (WIDTH - LEFT - RIGHT)

    def y(value):
        return TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)

    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" '
           'font-size="12">' % (WIDTH, HEIGHT),
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="%d" y="22" font-size="15">%s</text>' % (LEFT, html.escape(title))]
    for value in ticks(math.exp(left), math.exp(right)):
        out.append('<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}" stroke="#ddd"/><text '
                   'x="{0:.1f}" y="{3}" text-anchor="middle">{4:g}</text>'.format(
                       x(value), TOP, HEIGHT - BOTTOM, HEIGHT - BOTTOM + 16, value))
    for step in range(5):
        value = low + (high - low) * step / 4
        out.append('<line x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}" stroke="#ddd"/><text x="{3}" '
                   'y="{4:.1f}" text-anchor="end">{5:.3f}</text>'.format(
                       LEFT, WIDTH - RIGHT, y(value), LEFT - 6, y(value) + 4, value))
    out.append('<text x="%d" y="%d">CPU seconds of training</text>' % (LEFT, HEIGHT - 10))
    for i, (name, line) in enumerate(lines.items()):
        color = COLORS[i % len(COLORS)]
        out.append('<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>' % (
            color, " ".join("%.1f,%.1f" % (x(s), y(e)) for s, e in line)))
        out += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (x(s), y(e), color)
                for s, e in line]
        out.append('<text x="%d" y="%d" fill="%s">%s</text>' % (
            WIDTH - RIGHT + 10, TOP + 16 * i + 12, color, html.escape(name)))
    return "\n".join(out) + "\n</svg>\n"
