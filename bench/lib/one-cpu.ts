import { execFileSync } from 'node:child_process'

/**
 * Runs a measurement on one CPU: all threads of this process, and the processes that it starts. The others stay free for
 * the probe, which is older and keeps all CPUs. A client and a database that answers it take turns, so that one CPU is enough
 * for them; on two CPUs their helper threads keep the probe waiting on a host that does nothing else. Runs as usual
 * on a host with one CPU, and on another system than Linux.
 */
export async function onOneCpu<T>(run: () => Promise<T>): Promise<T> {
  const usual = process.platform === 'linux' ? ownCpus() : null
  const [first, second] = usual ?? []
  if (usual === null || first === undefined || second === undefined) return run()
  setOwnCpus([first])
  try {
    return await run()
  } finally {
    setOwnCpus(usual)
  }
}

/** Returns the numbers of the CPUs on which this process may run. */
function ownCpus(): readonly number[] {
  const text = execFileSync('taskset', ['-c', '-p', String(process.pid)], { encoding: 'utf8' })
  // "pid 7's current affinity list: 0-2,5"
  const ranges = text.slice(text.lastIndexOf(':') + 1).trim()
  return ranges.split(',').flatMap((range) => {
    const [from, to = from] = range.split('-').map(Number)
    if (from === undefined || to === undefined || !(from <= to))
      throw new Error(`taskset answered ${text.trim()}`)
    return Array.from({ length: to - from + 1 }, (_, n) => from + n)
  })
}

function setOwnCpus(cpus: readonly number[]): void {
  execFileSync('taskset', ['-a', '-c', '-p', cpus.join(','), String(process.pid)], { stdio: 'pipe' })
}
