"use strict";
// The drawing as a file: an SVG that carries its own colours, or the same as a PNG of twice the size.
chebact.picture = (() => {
  const NAMES = [
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity",
    "font-family", "font-size", "font-style", "text-anchor",
  ];

  /** The shown SVG as a text that needs no style sheet; what only answers the pointer is left out. */
  function svgText(svg) {
    const copy = svg.cloneNode(true), shown = [...svg.querySelectorAll("*")];
    [...copy.querySelectorAll("*")].forEach((part, index) => {
      const style = getComputedStyle(shown[index]);
      if (style.display === "none") part.dataset.drop = "";
      for (const name of NAMES) part.style.setProperty(name, style.getPropertyValue(name));
    });
    for (const part of copy.querySelectorAll("[data-drop], .hit, .ring, .chip, .cross, title")) part.remove();
    for (const part of [copy, ...copy.querySelectorAll("*")]) {
      for (const name of ["class", "tabindex", "role", "aria-label", "aria-describedby"]) part.removeAttribute(name);
    }
    const { width, height } = svg.viewBox.baseVal, back = getComputedStyle(svg.closest(".stage")).backgroundColor;
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ width, height, fill: back })) paper.setAttribute(name, value);
    copy.prepend(paper);
    return new XMLSerializer().serializeToString(copy);
  }

  /** The same as the content of a PNG file. */
  async function pngBlob(svg, scale = 2) {
    const { width, height } = svg.viewBox.baseVal, image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: scale * width, height: scale * height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => { canvas.toBlob(done, "image/png"); });
  }

  /** Hand a file to the browser's downloads. */
  function save(blob, name) {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  return {
    saveSvg: (svg) => save(new Blob([svgText(svg)], { type: "image/svg+xml" }), "activation.svg"),
    savePng: async (svg) => save(await pngBlob(svg), "activation.png"),
  };
})();
