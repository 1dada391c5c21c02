import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
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
 * Writes what became of each test to the JSON file that FOREVERVM_TEST_REPORT names, and prints the tests that passed only on a
 * retry.
 */
export default class Report implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const results = modules.flatMap((module) => [
      ...failure(module),
      ...[...module.children.allSuites()].flatMap(failure),
      ...[...module.children.allTests()].map(outcome),
    ]);
    for (const { message } of errors)
      results.push({ name: 'the run', file: '', seconds: 0, state: 'failed', reason: message });
    const flaky = results.filter(({ state }) => state === 'flaky');
    if (flaky.length > 0) console.log(`Flaky, which is a bug (${flaky.length}):`);
    for (const { name, file, reason } of flaky) console.log(`  ${file}: ${name}: ${reason}`);
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
    file: relative(process.cwd(), test.module.moduleId),
    seconds: Math.round(duration) / 1000,
    // A test that has not ended was cut off.
    state: flaky ? 'flaky' : result.state === 'pending' ? 'failed' : result.state,
    ...(reason ? { reason } : {}),
  };
}

/** What went wrong outside of the tests of a file or a group, whose tests are then skipped. */
function failure(of: TestModule | TestSuite): Result[] {
  const file = of.type === 'module' ? of.moduleId : of.module.moduleId;
  return of.errors().map(({ message }) => ({
    name: of.type === 'module' ? 'the file' : of.fullName,
    file: relative(process.cwd(), file),
    seconds: 0,
    state: 'failed',
    reason: message,
  }));
}
