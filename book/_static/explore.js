// Sliders for the figures of the class "explore": the stored picture gives way to a live one. Needs scenes.js.
"use strict";

function explore(image) {
  const figure = image.closest("figure"), name = figure.id.replace("fig-explore-", "").replaceAll("-", "_"), scene = scenes.all[name];
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const values = scenes.start(name), drawing = make("div", { className: "explore-drawing" });
  const says = make("p", { className: "explore-says" }), fields = make("div", { className: "explore-fields" });
  says.setAttribute("role", "status");
  fields.setAttribute("role", "group");
  fields.setAttribute("aria-label", "Sliders of the figure");

  for (const { name: key, label, stops, start, words } of scene.sliders) {
    const input = make("input", { type: "range", id: `explore-${name}-${key}`, min: 0, max: stops.length - 1, step: 1 });
    const shown = make("span", { className: "explore-value" });
    shown.setAttribute("aria-hidden", "true"); // the slider itself says it
    const show = () => {
      values[key] = stops[Number(input.value)];
      shown.textContent = words(values[key]);
      input.setAttribute("aria-valuetext", words(values[key]));
    };
    input.value = stops.indexOf(start);
    input.addEventListener("input", () => { show(); draw(); });
    show();
    fields.append(make("div", {}, make("label", { htmlFor: input.id }, label), shown, input));
  }

  function draw() {
    drawing.innerHTML = scenes.picture(name, values);
    says.textContent = scenes.says(name, values);
  }
  draw();
  figure.nextElementSibling.remove(); // what readers without scripts are told
  image.replaceWith(make("div", { className: "explore-live" }, drawing, fields, says));
}

document.querySelectorAll("figure > img.explore").forEach(explore);
