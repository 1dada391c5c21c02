/**
 * Something that a person has set for the page, kept by the browser; where that keeps nothing,
 * until the page is closed.
 */
export class Kept<T> {
  private current = $state.raw() as T;

  /**
   * What is kept counts only where it passes the check: anything may lie there from an earlier
   * version.
   */
  constructor(
    private readonly key: string,
    fallback: T,
    valid: (value: unknown) => value is T,
  ) {
    this.current = fallback;
    try {
      const found: unknown = JSON.parse(localStorage.getItem(`forevervm.${key}`) ?? 'null');
      if (valid(found)) this.current = found;
    } catch {
      // Then it is as if nothing had been kept.
    }
  }

  get value(): T {
    return this.current;
  }

  set value(value: T) {
    this.current = value;
    try {
      localStorage.setItem(`forevervm.${this.key}`, JSON.stringify(value));
    } catch {
      // It holds for now.
    }
  }
}

export const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
export const isString = (value: unknown): value is string => typeof value === 'string';
export const isNumber = (value: unknown): value is number => typeof value === 'number';
export const isStrings = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every(isString);
