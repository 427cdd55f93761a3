// A canvas as sharp as the screen, measured in CSS pixels.

export class Sheet {
  constructor(element) {
    this.element = element;
    this.pen = element.getContext("2d");
    this.width = this.height = this.scale = 0;
    new ResizeObserver(() => this.measure()).observe(element);
    this.measure();
  }

  measure() {
    const scale = Math.min(2, devicePixelRatio || 1);
    const { clientWidth: width, clientHeight: height } = this.element;
    if (width === this.width && height === this.height && scale === this.scale) return;
    Object.assign(this, { width, height, scale });
    this.element.width = Math.round(width * scale);
    this.element.height = Math.round(height * scale);
  }

  clear() {
    this.pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.pen.globalAlpha = 1;
    this.pen.clearRect(0, 0, this.width, this.height);
  }
}

// A disc that is drawn once and stamped often.
export function disc(radius, scale, colour) {
  const size = Math.ceil(2 * radius * scale) + 2;
  const stamp = document.createElement("canvas");
  stamp.width = stamp.height = size;
  const pen = stamp.getContext("2d");
  pen.fillStyle = colour;
  pen.arc(size / 2, size / 2, radius * scale, 0, 2 * Math.PI);
  pen.fill();
  return stamp;
}
