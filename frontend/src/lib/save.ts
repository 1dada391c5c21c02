import { inWindow, saveInWindow } from '$lib/api/connection';

/** Who is told of what the window saved: a browser tells by itself. */
interface Listener {
  saved(path: string): void;
  failed(reason: unknown): void;
}

let listener: Listener | undefined;

export function onSaved(told: Listener): void {
  listener = told;
}

/** Has the browser, or the window, save something as a file, under a name of ours. */
export function saveAs(name: string, content: Blob): void {
  const whole = async function* () {
    yield await Promise.resolve(content);
  };
  saveParts(name, whole()).catch((reason: unknown) => listener?.failed(reason));
}

/** The same of what comes in parts, which the window never holds together; a browser keeps them outside the page. */
export async function saveParts(name: string, parts: AsyncIterable<Blob>): Promise<void> {
  if (inWindow()) {
    listener?.saved(await saveInWindow(name, parts));
    return;
  }
  const all: Blob[] = [];
  for await (const part of parts) all.push(part);
  const address = URL.createObjectURL(new Blob(all));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // Not at once: the browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
