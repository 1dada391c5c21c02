import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite } from 'vitest/node';

interface Result {
  name: string;
  file: string;
  /** All attempts, with what runs before and after each. */
  seconds: number;
  state: 'passed' | 'failed' | 'skipped' | 'flaky';
  /** Why it failed or was skipped, or what went wrong before it passed. */
  reason?: string;
}

/**
 * Prints the tests that passed only on a retry, and writes the result of each test to the JSON file
 * that FOREVERVM_TEST_REPORT names.
 */
export default class Report implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const results = modules.flatMap((module) => [
      ...failure(module),
      ...[...module.children.allSuites()].flatMap(failure),
      ...[...module.children.allTests()].map(outcome),
    ]);
    for (const error of errors) results.push(broken('the run', '', error));
    const flaky = results.filter(({ state }) => state === 'flaky');
    if (flaky.length > 0) console.log(`Flaky, which is a bug (${flaky.length}):`);
    for (const { name, file, reason = '' } of flaky)
      console.log(`  ${file}: ${name}: ${reason.split('\n')[0]}`);
    const path = process.env['FOREVERVM_TEST_REPORT'];
    if (path) writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`);
  }
}

function outcome(test: TestCase): Result {
  const result = test.result();
  const { duration = 0, flaky = false } = test.diagnostic() ?? {};
  const reason = result.errors?.[0]?.message ?? ('note' in result ? result.note : undefined);
  return {
    name: test.fullName,
    file: nameOf(test.module),
    seconds: Math.round(duration) / 1000,
    // A test that has not ended was cut off.
    state: flaky ? 'flaky' : result.state === 'pending' ? 'failed' : result.state,
    ...(reason ? { reason: stripVTControlCharacters(reason) } : {}),
  };
}

/** What went wrong outside of the tests of a file or a group, which are then not run. */
function failure(of: TestModule | TestSuite): Result[] {
  const [name, module] = of.type === 'module' ? ['the file', of] : [of.fullName, of.module];
  return of.errors().map((error) => broken(name, nameOf(module), error));
}

function broken(name: string, file: string, { message }: SerializedError): Result {
  return { name, file, seconds: 0, state: 'failed', reason: stripVTControlCharacters(message) };
}

function nameOf(module: TestModule): string {
  return relative(process.cwd(), module.moduleId);
}
