/** A place onto which files are dragged; `on` are its events. Of nested places the inner one counts. */
export class Dropping {
  private depth = $state(0);

  constructor(private readonly dropped: (data: DataTransfer) => void) {}

  /** Whether files are over it. */
  get over(): boolean {
    return this.depth > 0;
  }

  readonly on = {
    ondragenter: (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      event.stopPropagation();
      this.depth += 1;
    },
    ondragover: (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
    },
    ondragleave: (event: DragEvent) => {
      event.stopPropagation();
      this.depth = Math.max(0, this.depth - 1);
    },
    ondrop: (event: DragEvent) => {
      if (!hasFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      event.stopPropagation();
      this.depth = 0;
      this.dropped(event.dataTransfer);
    },
  };
}

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes('Files') ?? false;
}
