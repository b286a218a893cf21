/* The built pages, in reading order, as one document for print. tools/pdf.py loads this into an empty page of the site. */
window.book = {
  /* An id of a page, made unique among all pages. */
  id: (page, place) => (place ? `${page.replace("/", ".")}--${place}` : page.replace("/", ".")),

  /* The whole address of what a page refers to. */
  address: (page, href) => new URL(href, `${location.origin}/${page}.html`).href,

  /* Where a link leads in the joined document; elsewhere as it stands; nowhere (null) if to a file of the site that has no
     address. */
  target(page, href, pages, home) {
    const url = new URL(book.address(page, href));
    if (url.origin !== location.origin) return url.href;
    const path = url.pathname.slice(1);
    const name = path.replace(/\.html$/, "");
    if (pages.has(name)) return `#${book.id(name, decodeURIComponent(url.hash.slice(1)))}`;
    return home ? new URL(path + url.hash, home).href : null;
  },

  /* Take what only a screen needs from a page's article. */
  strip(article) {
    article.querySelectorAll(".headerlink, script, style, summary > .sd-summary-state-marker, .d-print-none")
      .forEach(e => e.remove());
    article.querySelectorAll("noscript").forEach(e => e.remove());
    for (const folded of article.querySelectorAll("details.hide")) {
      folded.querySelector("summary").remove();
      folded.replaceWith(...folded.childNodes);
    }
  },

  /* Make ids, and what refers to them, those of the joined document. */
  rename(article, page, pages, home) {
    for (const e of article.querySelectorAll("[id]")) e.id = book.id(page, e.id);
    for (const name of ["aria-labelledby", "aria-describedby", "for"]) {
      for (const e of article.querySelectorAll(`[${name}]`)) {
        e.setAttribute(name, e.getAttribute(name).split(" ").map(id => book.id(page, id)).join(" "));
      }
    }
    for (const a of article.querySelectorAll("a[href]")) {
      const to = book.target(page, a.getAttribute("href"), pages, home);
      if (to === null) a.removeAttribute("href");
      else a.setAttribute("href", to);
    }
    for (const image of article.querySelectorAll("img")) {
      image.src = book.address(page, image.getAttribute("src"));
      image.loading = "eager";
    }
  },

  /* Headings go down by one: a part is above its chapters. */
  lower(article) {
    for (let level = 5; level >= 1; level--) {
      for (const h of article.querySelectorAll(`h${level}`)) {
        const lower = document.createElement(`h${level + 1}`);
        lower.append(...h.childNodes);
        h.replaceWith(lower);
      }
    }
  },

  /* Questions with options: on paper a list, and an answer with the verdict on each option. */
  open(article) {
    for (const list of article.querySelectorAll("ul.choices")) {
      const answer = document.createElement("details"), content = document.createElement("div");
      answer.className = "sd-dropdown";
      content.className = "sd-summary-content";
      answer.innerHTML = `<summary><span class="sd-summary-text">${list.getAttribute("aria-label")}</span></summary>`;
      for (const choice of list.querySelectorAll("details.choice")) {
        const why = choice.querySelector(".why"), says = choice.querySelector("summary");
        why.prepend(says.querySelector(".letter").cloneNode(true), " ");
        content.append(why);
        choice.replaceWith(...says.childNodes);
      }
      answer.append(content);
      list.after(answer);
    }
  },

  /* Move answers to the end of the book; in their place stays a link. Returns them. */
  answers(article, page) {
    const found = [...article.querySelectorAll(".solution, details.sd-dropdown")];
    return found.map((answer, i) => {
      const title = answer.querySelector(".admonition-title, .sd-summary-text");
      const id = `${book.id(page)}--print-answer-${i + 1}`;
      const box = Object.assign(document.createElement("div"), { className: "answer", id });
      const head = Object.assign(document.createElement("p"), { className: "answer-title" });
      const link = Object.assign(document.createElement("p"), { className: "to-answer", id: `${id}-from` });
      link.innerHTML = `<a href="#${id}">${title.textContent.trim()}: page <span class="page-of" data-of="${id}">000</span></a>`;
      head.innerHTML = `<a href="#${id}-from">${title.textContent.trim()}</a>`;
      box.append(head, ...answer.querySelector("section, .sd-summary-content").childNodes);
      while (answer.nextElementSibling?.matches(".cell[class*=tag_hide]")) box.append(answer.nextElementSibling);
      answer.replaceWith(link);
      return box;
    });
  },

  /* Fetch one page; return its article, ready for the joined document, and its answers. */
  async load(page, pages) {
    const text = await (await fetch(`/${page}.html`)).text();
    const html = new DOMParser().parseFromString(text, "text/html");
    const home = html.querySelector("meta[property='og:url']")?.content.replace(`${page}.html`, "");
    const article = html.querySelector("article.bd-article");
    book.strip(article);
    book.rename(article, page, pages, home);
    book.lower(article);
    book.open(article);
    const answers = book.answers(article, page);
    const chapter = document.createElement("article");
    chapter.className = "bd-article chapter";
    chapter.id = book.id(page);
    chapter.append(...article.childNodes);
    const styles = [...html.querySelectorAll("link[rel=stylesheet]")];
    return { chapter, answers, styles: styles.map(e => book.address(page, e.getAttribute("href"))) };
  },

  /* A heading with a page of its own in the running head. */
  heading(level, text, id) {
    return Object.assign(document.createElement(`h${level}`), { textContent: text, id });
  },

  /* One line of the table of contents. */
  entry(text, id, kind) {
    const line = Object.assign(document.createElement("a"), { href: `#${id}`, className: `contents-${kind}` });
    line.append(Object.assign(document.createElement("span"), { textContent: text }));
    line.append(Object.assign(document.createElement("span"), { className: "page-of", textContent: "000" }));
    line.lastChild.dataset.of = id;
    return line;
  },

  /* Join all pages: parts is a list of {caption, pages}. */
  async join(title, parts) {
    const pages = new Set(parts.flatMap(part => part.pages));
    const body = document.body, heads = [];
    const contents = Object.assign(document.createElement("nav"), { className: "book-contents" });
    const styles = new Set();
    const front = Object.assign(document.createElement("section"), { className: "title-page" });
    front.append(...title.map(line => Object.assign(document.createElement("p"), { textContent: line })));
    contents.append(book.heading(1, "Contents", "contents"));
    body.append(front, contents);
    const all = [];
    for (const part of parts) {
      const loaded = await Promise.all(part.pages.map(page => book.load(page, pages)));
      loaded.flatMap(one => one.styles).forEach(href => styles.add(href));
      loaded.forEach((one, i) => {
        const name = one.chapter.querySelector("h2").textContent.trim();
        if (i === 0 && part.caption) {
          const id = `part-${heads.length}`;
          one.chapter.prepend(book.heading(1, part.caption, id));
          contents.append(book.entry(part.caption, id, "part"));
        }
        contents.append(book.entry(name, one.chapter.id, "chapter"));
        heads.push({ id: one.chapter.id, name });
        if (one.answers.length) all.push({ name, answers: one.answers });
        body.append(one.chapter);
      });
    }
    if (all.length) {
      const last = Object.assign(document.createElement("article"), { className: "bd-article chapter", id: "answers" });
      last.append(book.heading(1, "Answers", "part-answers"));
      contents.append(book.entry("Answers", "answers", "part"));
      for (const { name, answers } of all) last.append(book.heading(2, name, `answers-${name}`), ...answers);
      body.append(last);
      heads.push({ id: "answers", name: "Answers" });
    }
    const rules = heads.map(({ id, name }, i) => `
      #${CSS.escape(id)} { page: chapter${i} }
      @page chapter${i} { @top-right { content: ${JSON.stringify(name)} } }`);
    document.head.append(Object.assign(document.createElement("style"), { textContent: rules.join("") }));
    const arrived = [];
    for (const href of styles) {
      const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
      arrived.push(new Promise(resolve => { link.onload = link.onerror = resolve; }));
      document.head.append(link);
    }
    await Promise.all(arrived);
  },

  /* Pictures with text are drawn in the page, whose fonts are shipped; in an image they would use this machine's. */
  async draw(image) {
    const text = await (await fetch(image.src)).text();
    if (text.includes(' id="')) return;  // ids would clash
    const drawing = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    drawing.style.cssText = "font-family: inherit; max-width: 100%; height: auto";
    drawing.setAttribute("aria-label", image.alt);
    image.replaceWith(drawing);
  },

  /* Wait until fonts and images are there. */
  async settle() {
    await Promise.all([...document.querySelectorAll("img[src$='.svg']")].map(book.draw));
    await document.fonts.ready;
    await Promise.all([...document.images].map(image => image.decode()));
  },

  /* Make what is wider than its column as small as it must be, and let boxes split that no page can hold. Returns how small
     each became. */
  fit() {
    const shrunk = [];
    for (const e of document.querySelectorAll("math, table, pre, img")) {
      let block = e.parentElement;
      while (getComputedStyle(block).display.startsWith("inline")) block = block.parentElement;
      const style = getComputedStyle(block);
      const room = block.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      const share = room / e.getBoundingClientRect().width;
      if (share < 0.999) {
        e.style.zoom = share * 0.99;
        shrunk.push({ share, text: e.textContent.trim().slice(0, 60) });
      }
    }
    for (const e of document.querySelectorAll(book.frames)) {
      if (e.getBoundingClientRect().height > 0.8 * innerHeight) e.classList.add("tall");
    }
    return shrunk;
  },

  /* Boxes with a frame or a ground of their own: one that is split may leave an empty part. */
  frames: "pre, figure, table, .admonition, .answer, .cell_input, .cell_output, .claim, .sd-card",

  /* What a printed page would cut: whatever reaches beyond the column, or is hidden in a box that would scroll; boxes that
     may split though a page can hold them; images that did not arrive. */
  faults() {
    const edge = document.documentElement.clientWidth + 1, found = [];
    for (const e of document.body.querySelectorAll("*")) {
      if (!e.checkVisibility() || e.closest("svg")) continue;
      const box = e.getBoundingClientRect();
      if (box.width && box.right > edge) found.push(`beyond the edge: ${e.outerHTML.slice(0, 80)}`);
      const style = getComputedStyle(e);
      if (style.overflowX !== "visible" && e.scrollWidth > e.clientWidth + 1 && style.display !== "inline") {
        found.push(`cut: ${e.outerHTML.slice(0, 80)}`);
      }
      if (e.matches(book.frames) && box.height < 0.8 * innerHeight && style.breakInside !== "avoid") {
        found.push(`may split: ${e.outerHTML.slice(0, 80)}`);
      }
    }
    for (const a of document.querySelectorAll("a[href^='#']")) {
      if (!document.getElementById(a.getAttribute("href").slice(1))) found.push(`a link that leads nowhere: ${a.outerHTML.slice(0, 80)}`);
    }
    for (const image of document.images) if (!image.naturalWidth) found.push(`not loaded: ${image.src}`);
    return found.slice(0, 20);
  },

  /* Write the numbers of pages where they are referred to. */
  number(pageOf) {
    for (const e of document.querySelectorAll(".page-of")) e.textContent = pageOf[e.dataset.of] ?? "?";
  },
};
