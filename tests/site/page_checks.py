"""Checks of one page in a browser. Each takes a Playwright page that has loaded, and returns what is wrong with it."""

import functools
import html
import re
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import axe_playwright_python

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")

PHONE = {"width": 375, "height": 800}
WIDER_PHONE = {"width": 390, "height": 844}
DIAGRAMS = 'figure img[src$=".svg"]:not(.explore)'
DRAWN = 'figure img:not([src$=".svg"], .explore)'
DESKTOP = {"width": 1280, "height": 900}

# What a reader would see as text: not code, not formulas, nothing hidden.
VISIBLE_TEXT = """() => {
    const skip = 'pre, code, script, style, math, noscript, template, textarea';
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const parts = [];
    while (walker.nextNode()) {
        const parent = walker.currentNode.parentElement;
        if (!parent.closest(skip) && parent.checkVisibility({visibilityProperty: true})) {
            parts.push(walker.currentNode.textContent);
        }
    }
    return parts.join('\\u241f');
}"""

# Raw LaTeX, a dollar sign beside a formula, and MyST that was not understood.
RAW = re.compile(
    r"\\[a-zA-Z]{2,}|\\[()\[\]]|\$\$|\$\u241f|\u241f\$|(?<![\w$])\$[^$\s\u241f][^$\u241f]*\$(?![\w$])"
    r"|\{(?:prf:)?[a-z:]+\}`|```|:::"
)


class Visitor:
    """Loads pages in one browser tab and keeps what went wrong while they loaded."""

    def __init__(self, context, host):
        self.host, self.errors, self.foreign = host, [], []
        self.page = context.new_page()
        self.page.on("request", self.request)
        self.page.on("console", self.console)
        self.page.on("pageerror", lambda error: self.errors.append(f"page error: {error}"))
        self.page.on("response", self.response)

    def request(self, request):
        """Note requests that leave the site; they find no host. What intercepts requests would keep no cache."""
        if not request.url.startswith(("data:", "blob:")) and urlsplit(request.url).netloc != self.host:
            self.foreign.append(request.url)

    def console(self, message):
        """Note errors and warnings on the console."""
        if message.type in ("error", "warning"):
            self.errors.append(f"console {message.type}: {message.text}")

    def response(self, response):
        """Note what the site does not have."""
        if response.status >= 400:
            self.errors.append(f"{response.status}: {response.url}")

    def load(self, url):
        """Load a page and wait until its fonts are there."""
        self.errors.clear()
        self.foreign.clear()
        self.page.goto("about:blank")  # the page before is not laid out for the size of the next
        self.page.set_viewport_size(DESKTOP)
        self.page.goto(url, wait_until="load")
        self.page.evaluate("async () => { await document.fonts.ready }")
        return self.page


def at(page, size):
    """Give the window this size, and the page time to lay itself out anew; checks of one size stand side by side."""
    if page.viewport_size != size:
        page.set_viewport_size(size)
        page.wait_for_timeout(300)


def raw_markup(page):
    """Formulas and roles that a reader would see as source text."""
    return raw_in(page.evaluate(VISIBLE_TEXT))


def raw_in(text):
    """Raw markup in a text, with what is around it."""
    return [f"raw markup {text[max(0, m.start() - 20) : m.end() + 20]!r}" for m in RAW.finditer(text)]


# Formulas of a document that are not MathML with its TeX, or hold raw TeX.
FORMULAS = """const formulas = (all, more = {}) => {
    const tex = 'annotation[encoding="application/x-tex"]';
    const raw = e => [...e.querySelectorAll('mi, mo, mn, mtext')].some(x => /[\\\\$]/.test(x.textContent));
    const faults = {
        'not typeset': e => !e.querySelector('math'),
        'without its TeX': e => [...e.querySelectorAll('math')].some(x => !x.querySelector(tex)?.textContent),
        'with an error': e => e.querySelector('merror') || raw(e),
        ...more,
    };
    const of = test => [...all.querySelectorAll('.math, .text_latex')].filter(test);
    return Object.entries(faults).flatMap(([fault, test]) =>
        of(test).map(e => `${fault}: ${e.textContent.trim().slice(0, 60)}`));
};"""


def untypeset_formulas(page):
    """Formulas that are not MathML with its TeX, hold raw TeX, or scroll within a line."""
    return page.evaluate(
        f"""() => {{
            {FORMULAS}
            const scrolls = e => e.tabIndex >= 0 || getComputedStyle(e).overflowX != 'visible';
            return formulas(document, {{'scrolls in a line': e => e.matches('span') && scrolls(e)}});
        }}"""
    )


def sideways_scroll(page):
    """Elements that make the page wider than a phone."""
    at(page, PHONE)
    found = page.evaluate(
        """() => {
            const root = document.documentElement, wide = [];
            if (root.scrollWidth <= root.clientWidth) return wide;
            for (const e of document.body.querySelectorAll('*')) {
                if (e.getBoundingClientRect().right > root.clientWidth + 1) {
                    wide.push(`${root.scrollWidth} px: ${e.outerHTML.slice(0, 80)}`);
                }
            }
            return wide.slice(0, 3).concat(wide.length ? [] : [`${root.scrollWidth} px wide`]);
        }"""
    )
    return found


def shown_diagrams(page, size):
    """The diagrams that a page shows on a screen of this size: address, and pixels a unit; then their box's faults."""
    at(page, size)
    return page.evaluate(
        """async kind => {
            const found = [];
            for (const e of document.querySelectorAll(kind)) {
                e.loading = 'eager';
                await new Promise(resolve => setTimeout(resolve, 50));  // the screen may have changed the drawing
                try { await e.decode(); } catch (error) { continue; }
                const box = e.closest('figure'), frame = box.parentElement.getBoundingClientRect();
                const drawn = e.getBoundingClientRect();
                const out = drawn.left < frame.left - 1 || drawn.right > frame.right + 1;
                found.push([e.currentSrc, drawn.width / e.naturalWidth, out || box.scrollWidth > box.clientWidth + 1]);
            }
            return found;
        }""",
        DIAGRAMS,
    )


def small_diagrams(page):
    """Diagrams with words whose letters are less than 10 pixels high on a phone."""
    found = []
    for address, scale, _ in shown_diagrams(page, PHONE):
        source = page.request.get(address).text()
        sizes = re.findall(r'<text [^>]*font-size="([\d.]+)"[^>]*>[^<]{2,}<', source)
        if min(map(float, sizes)) * scale < 10:
            found.append(address)
    return found


def wide_diagrams(page):
    """Diagrams that are wider than their box on a phone: part of them would be cut off."""
    found = [address for address, _, out in shown_diagrams(page, WIDER_PHONE) if out]
    return found


def small_figures(page):
    """Drawn figures whose letters of ten points, the style's, are less than eight pixels high on a phone."""
    at(page, WIDER_PHONE)
    found = page.evaluate(
        """async kind => {
            const found = [];
            for (const e of document.querySelectorAll(kind)) {
                e.loading = 'eager';
                try { await e.decode(); } catch (error) { continue; }
                const high = (10 / 72) * 100 * e.getBoundingClientRect().width / e.naturalWidth;
                if (high < 8) found.push(`${high.toFixed(1)} px: ${e.alt.slice(0, 60)}`);
            }
            return found;
        }""",
        DRAWN,
    )
    return found


def without_hint(page):
    """Code and tables that scroll on a phone and do not say so."""
    at(page, PHONE)
    found = page.evaluate(
        """() => {
            const hints = {
                'pre': e => getComputedStyle(e).backgroundAttachment.includes('local'),
                ':is(.pst-scrollable-table-container, div.output:has(table))':
                    e => getComputedStyle(e, '::before').content.includes('Scroll sideways'),
            };
            const scrolls = e => e.checkVisibility() && e.scrollWidth > e.clientWidth;
            const all = kind => [...document.querySelectorAll(kind)];
            const silent = ([kind, says]) => all(kind).filter(e => scrolls(e) && !says(e));
            return Object.entries(hints).flatMap(silent).map(e => e.outerHTML.slice(0, 80));
        }"""
    )
    return found


def squeezed_formulas(page):
    """On a phone: formulas whose hint to scroll takes several lines, or whose beginning no scrolling shows."""
    at(page, PHONE)
    found = page.evaluate(
        """() => {
            const cut = box => [...box.querySelectorAll('math')].some(formula => {
                const left = formula.getBoundingClientRect().left + box.scrollLeft;
                return left < box.getBoundingClientRect().left - 1;
            });
            const high = box => parseFloat(getComputedStyle(box, '::before').height) > 32;
            const boxes = [...document.querySelectorAll('div.math')].filter(e => e.checkVisibility());
            return boxes.filter(e => cut(e) || high(e)).map(e => e.textContent.trim().slice(0, 60));
        }"""
    )
    return found


def lonely_marks(page):
    """Full stops and the like that a phone shows a line below the formula before them, and brackets a line above."""
    at(page, PHONE)
    found = page.evaluate(
        """() => {
            const found = [], place = document.createRange();
            const of = (text, i) => (place.setStart(text, i), place.setEnd(text, i + 1), place.getBoundingClientRect());
            for (const span of document.querySelectorAll('article span.math')) {
                if (!span.checkVisibility() || span.closest('.cell-label')) continue;
                const all = [...span.querySelectorAll('math')].map(e => e.getBoundingClientRect());
                const after = span.nextSibling, before = span.previousSibling?.firstChild || span.previousSibling;
                const say = () => found.push(span.parentElement.textContent.trim().slice(0, 80));
                const line = span.parentElement.clientWidth, full = all.at(-1).width + 8 > line;  // no room beside it
                const lone = /^[.,;:)\\]!?”]/.test(after?.data || '') && of(after, 0).left < all.at(-1).right - 2;
                if (lone && !full) say();
                if (/[([“]$/.test(before?.data || '') && of(before, before.length - 1).right > all[0].left + 2) say();
            }
            return found;
        }"""
    )
    return found


def machine_fonts(page):
    """Text that a reader sees in a font of the machine, not of the site: there the layout would differ elsewhere."""
    at(page, DESKTOP)
    page.evaluate(
        """() => {
            const skip = 'script, style, noscript, template, annotation, option', seen = new Map();
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
                const text = walker.currentNode.textContent, e = walker.currentNode.parentElement;
                if (!text.trim() || e.closest(skip) || !e.checkVisibility()) continue;
                const style = getComputedStyle(e);
                const italic = e.localName == 'mi' && text.length == 1;
                const key = [style.fontFamily, style.fontStyle, style.fontWeight, italic].join();
                const known = seen.get(key) || seen.set(key, new Set()).get(key);
                if ([...text].some(c => !known.has(c))) e.dataset.fonts = '';
                for (const c of text) known.add(c);
            }
        }"""
    )
    client = page.context.new_cdp_session(page)
    client.send("DOM.enable")
    client.send("CSS.enable")
    root = client.send("DOM.getDocument")["root"]["nodeId"]
    found = []
    for node in client.send("DOM.querySelectorAll", {"nodeId": root, "selector": "[data-fonts]"})["nodeIds"]:
        for font in client.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]:
            if not font["isCustomFont"]:
                html = client.send("DOM.getOuterHTML", {"nodeId": node})["outerHTML"]
                found.append(f"{font['familyName']}, {font['glyphCount']:g} glyphs: {html[:80]}")
    client.detach()
    return found[:10]


def bad_images(page):
    """Images without alternative text, or that did not load."""
    at(page, DESKTOP)
    return page.evaluate(
        """async () => {
            const found = [];
            for (const image of document.images) {
                image.loading = 'eager';
                try { await image.decode(); } catch (error) { found.push('not loaded: ' + image.src); }
                const alt = (image.getAttribute('alt') || '').trim();
                if (!alt || /^(image|figure|.*\\.(png|svg|jpe?g))$/i.test(alt)) {
                    found.push(`alt text ${JSON.stringify(alt)}: ${image.src}`);
                }
            }
            return found;
        }"""
    )


def searches(page):
    """Search boxes and buttons that a reader sees on arrival; a page's own filters, in its article, are not meant."""
    at(page, DESKTOP)
    return page.evaluate(
        """() => [...document.querySelectorAll('input[type=search], [class*=search-button], form[role=search]')]
            .filter(e => e.checkVisibility({visibilityProperty: true}) && e.getBoundingClientRect().width > 0)
            .filter(e => !e.closest('article'))
            .filter((e, i, all) => !all.some(other => other !== e && other.contains(e)))
            .map(e => e.outerHTML.slice(0, 100))"""
    )


def links(page):
    """Addresses of all links on the page, made absolute."""
    whole = "a => new URL(a.getAttribute('href'), document.baseURI).href"  # a link in a drawing has no text as its href
    return page.evaluate(f"() => [...document.querySelectorAll('a[href]')].map({whole})")


def broken_links(page, root, base):
    """Links into the site (folder `root`, served at `base`) whose file or place in the file does not exist."""
    return broken(links(page), root, base)


def broken(addresses, root, base):
    """Those of the addresses that lead into the site and to no file, or to no place in it."""
    found = []
    for link in dict.fromkeys(addresses):
        address, place = urldefrag(link)
        if not address.startswith(base):
            continue
        path = root / unquote(urlsplit(address).path.removeprefix(urlsplit(base).path).lstrip("/"))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            found.append(f"no such file: {link}")
        elif place and path.suffix == ".html" and not has_place(path, unquote(place)):
            found.append(f"no such place: {link}")
    return found


def has_place(path, place):
    """Return whether an HTML file has an element of this id."""
    return place in ids(path, path.stat().st_mtime_ns)


@functools.cache
def ids(path, changed):
    """Return the ids in an HTML file, which is read anew when it was changed."""
    return {html.unescape(found) for found in re.findall(r'\bid="([^"]*)"', path.read_text(encoding="utf-8"))}


def in_file(page, path, root):
    """What is wrong in a page's file on any screen: the checks above without visibility, layout and scripts.

    A browser parses the file, in a fifth of the time that it takes to show it.
    """
    held = page.evaluate(PARSED, path.read_text(encoding="utf-8"))
    base = "http://site/"
    here = base + path.relative_to(root).as_posix()
    images = [image for image, alt in held["images"] if bad_words(alt)]
    loaded = [urljoin(here, image) for image, _ in held["images"] if not image.startswith("data:")]
    foreign = [each for each in held["loads"] if urlsplit(urljoin(here, each)).netloc not in ("", "site")]
    links = [urljoin(here, link) for link in held["links"]]
    searches = [] if held["searches"] == 1 else [f"{held['searches']} search boxes"]
    parts = {"formulas": held["formulas"], "raw": raw_in(held["text"]), "images": images, "foreign": foreign}
    return parts | {"links": broken(links + loaded, root, base), "search": searches}


def bad_words(alt):
    """Whether an alternative text is none: empty, or the name of a file."""
    return not alt or bool(re.fullmatch(r"image|figure|.*\.(png|svg|jpe?g)", alt, re.IGNORECASE))


PARSED = f"""text => {{
    {FORMULAS}
    const all = new DOMParser().parseFromString(text, 'text/html');
    const each = (kind, name) => [...all.querySelectorAll(kind)].map(e => e.getAttribute(name));
    const walker = all.createTreeWalker(all.body, NodeFilter.SHOW_TEXT), words = [];
    while (walker.nextNode()) {{
        const skip = 'pre, code, script, style, math, noscript, template, textarea';
        if (!walker.currentNode.parentElement.closest(skip)) words.push(walker.currentNode.textContent);
    }}
    const styles = [...all.querySelectorAll('style, [style]')].map(e => e.getAttribute('style') || e.textContent);
    return {{
        formulas: formulas(all),
        text: words.join('\\u241f'),
        images: [...all.images].map(e => [e.getAttribute('src'), (e.getAttribute('alt') || '').trim()]),
        links: each('a[href]', 'href'),
        loads: [...each('[src]', 'src'), ...each('link[rel~=stylesheet], link[rel~=preload], link[rel~=icon]', 'href'),
            ...styles.join().matchAll(/(?:url\\(|@import)\\s*['"]?([^'")]+)/g).map(m => m[1])],
        searches: all.querySelectorAll('input[type=search], form[role=search]').length,
    }};
}}"""


def numbers_of_solutions(page):
    """What a reader sees of solutions before a click: their text, and outputs among the exercises."""
    at(page, DESKTOP)
    return page.evaluate(
        """() => {
            const seen = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true})
                && e.getBoundingClientRect().height > 0;
            const title = '.admonition-title, .admonition-title *, button, button *';
            const told = [...document.querySelectorAll('.solution *')].filter(e => !e.matches(title));
            const outputs = [...document.querySelectorAll('section#exercises .cell_output')];
            return [...told, ...outputs].filter(seen).map(e => e.textContent.trim().slice(0, 60));
        }"""
    )


def open_solutions(page):
    """Solutions that a reader sees without asking, and those that stay hidden after a click."""
    at(page, DESKTOP)
    return page.evaluate(
        """async () => {
            const found = [];
            for (const solution of document.querySelectorAll('.solution')) {
                const name = solution.textContent.trim().slice(0, 40);
                const body = solution.querySelector('section, .section, p:not(.admonition-title)');
                const button = solution.querySelector('button');
                const seen = () => body.checkVisibility({visibilityProperty: true, opacityProperty: true})
                    && body.getBoundingClientRect().height > 0;
                if (seen()) found.push('shown without a click: ' + name);
                if (!button) { found.push('no button: ' + name); continue; }
                button.click();
                for (let i = 0; i < 20 && !seen(); i++) await new Promise(resolve => setTimeout(resolve, 25));
                if (!seen()) found.push('hidden after a click: ' + name);
            }
            return found;
        }"""
    )


def low_contrast(page):
    """In the light and in the dark theme: text and figures with too little contrast to their ground."""
    at(page, DESKTOP)
    found = []
    page.add_style_tag(content="* { transition: none !important }")
    for theme in ("dark", "light"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        found += [f"{theme}: {problem}" for problem in page.evaluate(CONTRAST, theme)]
    return found + pale_figures(page)


def pale_figures(page):
    """Figures that cannot be read in one of the themes, by the contrast of their points to the page's ground.

    A point of contrast 3 and more in the light (WCAG 2.2, 1.4.11) must have 2.5 and more in the dark, but for one in
    fifty, which may lie on an edge; the other way round 1.9 and more, since Okabe and Ito's orange has 2.1 on white.
    And the strongest hundredth of what is drawn must have 4.5 and more, as text has.
    """
    return page.evaluate(PALE)


# WCAG 2.2, 1.4.3: 4.5 to 1, and 3 to 1 for large text.
CONTRAST = """theme => {
    const rgba = value => value.match(/[\\d.]+/g).map(Number).concat(1).slice(0, 4);
    const linear = x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    const light = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
    const over = (c, d) => [0, 1, 2].map(i => c[3] * c[i] + (1 - c[3]) * d[i]).concat(1);
    const grounds = new Map();
    const ground = e => {
        if (!e) return [255, 255, 255, 1];
        if (!grounds.has(e)) {
            const c = rgba(getComputedStyle(e).backgroundColor);
            grounds.set(e, c[3] === 1 ? c : over(c, ground(e.parentElement)));
        }
        return grounds.get(e);
    };
    const found = [];
    if (theme === 'dark') {
        if (light(ground(document.body)) > 0.2) found.push('the page is not dark');
    }
    const seen = new Set(), skip = 'script, style, noscript, math, li.claim:nth-child(n+30)';
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const e = walker.currentNode.parentElement;
        if (!walker.currentNode.textContent.trim() || seen.has(e) || e.closest(skip)) continue;
        seen.add(e);
        if (!e.checkVisibility({visibilityProperty: true})) continue;
        const style = getComputedStyle(e), behind = ground(e), size = parseFloat(style.fontSize);
        const [a, b] = [light(over(rgba(style.color), behind)), light(behind)].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05), large = size >= (style.fontWeight >= 700 ? 18.66 : 24);
        if (ratio < (large ? 3 : 4.5)) found.push(`contrast ${ratio.toFixed(2)}: ${e.textContent.trim().slice(0, 40)}`);
    }
    return found.slice(0, 10);
}"""


PALE = """async () => {
    const root = document.documentElement, before = root.dataset.theme, found = [];
    const curve = x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    const linear = new Float64Array(256).map((_, i) => curve(i / 255));
    const light = (d, i) => 0.2126 * linear[d[i]] + 0.7152 * linear[d[i + 1]] + 0.0722 * linear[d[i + 2]];
    const contrasts = image => {
        const style = getComputedStyle(image), page = getComputedStyle(document.body).backgroundColor;
        const canvas = document.createElement('canvas');
        const w = canvas.width = Math.min(900, image.naturalWidth);
        const h = canvas.height = Math.max(1, Math.round(image.naturalHeight * w / image.naturalWidth));
        const context = canvas.getContext('2d', {willReadFrequently: true});
        context.fillStyle = /, 0\\)$/.test(page) ? '#fff' : page;
        context.fillRect(0, 0, w, h);
        const ground = light(context.getImageData(0, 0, 1, 1).data, 0);
        context.fillStyle = style.backgroundColor;
        context.fillRect(0, 0, w, h);
        context.filter = style.filter;
        context.globalCompositeOperation = style.mixBlendMode == 'normal' ? 'source-over' : style.mixBlendMode;
        context.drawImage(image, 0, 0, w, h);
        const data = context.getImageData(0, 0, w, h).data, of = new Float64Array(w * h);
        for (let i = 0; i < of.length; i++) {
            const own = light(data, 4 * i);
            of[i] = (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05);
        }
        return of;
    };
    const images = [];
    for (const image of document.querySelectorAll('main img, article img')) {
        if (!image.checkVisibility()) continue;
        image.loading = 'eager';
        try { await image.decode(); } catch (error) { continue; }  // found by another check
        images.push(image);
    }
    const [brights, darks] = ['light', 'dark'].map(theme => {
        root.dataset.theme = theme;
        return images.map(contrasts);
    });
    for (const [number, image] of images.entries()) {
        const bright = brights[number], dark = darks[number];
        for (const [theme, here, there, least] of [['dark', dark, bright, 2.5], ['light', bright, dark, 1.9]]) {
            let drawn = 0, lost = 0;
            there.forEach((x, i) => { if (x >= 3) { drawn++; lost += here[i] < least; } });
            const inked = here.filter(x => x > 1.2).sort(), strongest = inked[Math.floor(0.99 * inked.length)];
            const say = words => found.push(`${theme}: ${words}: ${image.src}`);
            if (lost > 0.02 * drawn) say(`${(100 * lost / drawn).toFixed(0)} % of a figure fades`);
            if (!(strongest >= 4.5)) say(`a figure has no more contrast than ${strongest}`);
        }
    }
    root.dataset.theme = before;
    return found;
}"""


def pale_words(page):
    """Words of a figure with sliders with less contrast than 4.5 to the box under their middle, or to the page."""
    at(page, DESKTOP)
    return page.evaluate(WORDS)


WORDS = """() => {
    const rgba = value => (value.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number).concat(1).slice(0, 4);
    const linear = x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    const light = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
    const found = [];
    for (const svg of document.querySelectorAll('.explore-drawing > svg')) {
        const grounds = [document.body, svg].map(e => rgba(getComputedStyle(e).backgroundColor));
        const drawn = [...svg.querySelectorAll('rect, text')].map(e => [e, e.getBoundingClientRect()]);
        drawn.forEach(([e, at], i) => {
            if (e.tagName === 'rect') return;
            const x = (at.left + at.right) / 2, y = (at.top + at.bottom) / 2;
            const under = drawn.slice(0, i).filter(([box, b]) =>
                box.tagName === 'rect' && b.left < x && x < b.right && b.top < y && y < b.bottom);
            const all = [...grounds, ...under.map(([box]) => rgba(getComputedStyle(box).fill))];
            const both = [rgba(getComputedStyle(e).fill), all.filter(c => c[3] > 0).pop()].map(light);
            const ratio = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
            if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(2)}: ${e.textContent}`);
        });
    }
    return found;
}"""


# What axe need not see: formulas, which speak for themselves, the colours of code, and rows like those before.
THIN = """() => {
    document.querySelectorAll('math').forEach(e => e.replaceChildren('x'));
    document.querySelectorAll('pre, code').forEach(e => { if (!e.querySelector('a')) e.textContent = e.textContent; });
    const again = ['tr:nth-child(n+5)', 'nav li:nth-child(n+4)', 'li:nth-child(n+10)', '.citation:nth-child(n+5)',
        'dl.py:nth-of-type(n+4)', 'dl.py dd p'];
    document.querySelectorAll(again.join()).forEach(e => e.remove());
}"""


def barriers(page, *, thin=False, allowed=(), only=()):
    """What axe-core finds in the page as it stands, of any impact; `thin` first takes away what repeats."""
    if thin:
        page.evaluate(THIN)
    page.add_style_tag(content="* { transition: none !important }")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    # The contrast of every text is checked by `low_contrast`, in a tenth of the time.
    options = {"resultTypes": ["violations"], "preload": False, "rules": {"color-contrast": {"enabled": not thin}}}
    if only:
        options["runOnly"] = list(only)
    found = page.evaluate("async options => (await axe.run(document, options)).violations", options)
    return [
        f"{rule['id']} ({rule['impact']}), {len(rule['nodes'])} times: {rule['nodes'][0]['html'][:160]}"
        for rule in found
        if rule["id"] not in allowed
    ]


def tab_stops(page):
    """The elements that the key Tab reaches in the article, in order."""
    at(page, DESKTOP)
    return page.evaluate(
        """() => [...document.querySelector('article').querySelectorAll('*')]
            .filter(e => e.tabIndex >= 0 && e.checkVisibility({visibilityProperty: true}))
            .map(e => e.outerHTML.slice(0, 160))"""
    )
