// Sliders with stops, and files.

export const element = (id) => document.getElementById(id);

// A range input over a list of values. text says a value in words. change is called with the value.
export class Slider {
  constructor(id, values, start, text, change) {
    this.input = element(id);
    this.shown = element(`${id}-shown`);
    this.values = values;
    this.text = text;
    Object.assign(this.input, { min: 0, max: values.length - 1, step: 1 });
    this.set(start);
    this.input.addEventListener("input", () => {
      this.tell();
      change(this.value);
    });
  }

  get value() { return this.values[Number(this.input.value)]; }

  // The stop that is nearest to a value.
  set(value) {
    const away = this.values.map((each) => Math.abs(each - value));
    this.input.value = away.indexOf(Math.min(...away));
    this.tell();
  }

  tell() {
    this.shown.textContent = this.text(this.value);
    this.input.setAttribute("aria-valuetext", this.text(this.value));
  }
}

const bytes = (n) => n < 1e6 ? `${n.toLocaleString("en")} bytes` : `${(n / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;

// Call use with the bytes and the name of each file that is chosen, or refuse with a message. A file of more than `most`
// bytes is not read.
export function onFile(id, most, use, refuse) {
  element(id).addEventListener("change", async (event) => {
    const [file] = event.target.files;
    event.target.value = "";  // so that the same file can be chosen again
    if (!file) return;
    try {
      if (file.size > most) throw new Error(`${file.name} has ${bytes(file.size)}, and this page reads up to ${bytes(most)}`);
      use(new Uint8Array(await file.arrayBuffer()), file.name);
    } catch (error) {
      refuse(error.message);
    }
  });
}

export function download(name, bytes) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
