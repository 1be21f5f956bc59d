/** A test file that runs as one subtest of its process. */
export class TestFile {
  #subtest
  #teardowns
  #tests = []
  #ending = null

  constructor(subtest) {
    this.#subtest = subtest
    this.#teardowns = new Teardowns()
  }

  test(...args) {
    const running = addTest(this.#subtest, args)
    this.#tests.push(running)
    return running
  }

  teardown(run) {
    this.#teardowns.add(run)
  }

  setTimeout(ms) {
    this.#subtest.setTimeout(ms)
  }

  set jobs(count) {
    this.#subtest.jobs = count
  }

  /** Waits for the tests of the file, and runs its teardowns. */
  async end() {
    // A test may add another one to the file.
    for (let done = 0; done < this.#tests.length; done = this.#tests.length) await Promise.all(this.#tests)
    await this.tearDown()
  }

  /** Runs the teardowns of the file once. */
  tearDown() {
    this.#ending ??= this.#teardowns.run((error) => failTeardown(this.#subtest, 'file', error))
    return this.#ending
  }
}

/**
 * Teardowns run last to first, and each one runs: tap itself drops those that remain after one failed, and what they
 * would have closed keeps the process.
 */
class Teardowns {
  #runs = []

  add(run) {
    this.#runs.push(run)
  }

  async run(onError) {
    for (let run = this.#runs.pop(); run !== undefined; run = this.#runs.pop()) {
      try {
        await run()
      } catch (error) {
        onError(error)
      }
    }
  }
}

/** Adds a test to `parent`, with teardowns that all run. */
function addTest(parent, args) {
  const at = args.findIndex((arg) => typeof arg === 'function')
  const body = args[at]
  if (at >= 0) {
    args[at] = (test) => {
      prepare(test, parent)
      return body(test)
    }
  }
  return parent.test(...args)
}

function prepare(test, parent) {
  const teardowns = new Teardowns()
  // A finished test takes no more assertions, its parent does.
  test.teardown(() => teardowns.run((error) => failTeardown(parent, test.name, error)))
  define(test, 'teardown', (run) => teardowns.add(run))
  define(test, 'after', (run) => teardowns.add(run))
  const own = { test: test.test.bind(test) }
  define(test, 'test', (...args) => addTest({ ...own, fail: (...given) => test.fail(...given) }, args))
}

function define(object, name, value) {
  Object.defineProperty(object, name, { value, configurable: true })
}

function failTeardown(test, name, error) {
  const message = error instanceof Error ? error.message : String(error)
  test.fail(`the teardown of "${name}" failed: ${message}`, { error: error?.stack })
}
