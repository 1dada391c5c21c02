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
  if (inWindow()) {
    saveInWindow(name, content).then(
      (path) => listener?.saved(path),
      (reason: unknown) => listener?.failed(reason),
    );
    return;
  }
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // Not at once: the browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
