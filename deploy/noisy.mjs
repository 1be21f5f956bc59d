/*
 * Runs the tests on a host whose cores are taken away at random moments, as a shared virtual machine loses them.
 *
 *   npm run test:noisy [-- arguments of deploy/test.mjs]
 */
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism, constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root, say } from './setup.mjs'

const HELP = `Usage: npm run test:noisy [-- [--seed N] [arguments of deploy/test.mjs]]

Runs the tests while one process for each core burns that core for 15 to 120 ms at random intervals, about a third of
the time. It does so at high priority where the system allows it (root). --seed repeats the intervals of an earlier run.
`
const SHORTEST_MS = 15
const LONGEST_MS = 120
/** Idle time for each ms of load. */
const IDLE = 2

const args = process.argv.slice(2)
if (args[0] === '--load') await load(Number(args[1]))
else if (args.includes('--help')) process.stdout.write(HELP)
else process.exitCode = await main()

async function main() {
  const at = args.indexOf('--seed')
  const [, given] = at < 0 ? [] : args.splice(at, 2)
  const seed = Number(given ?? Date.now() % 2 ** 31)
  say(`Noisy run, seed ${seed}`)
  const loads = Array.from({ length: availableParallelism() }, (_, core) =>
    fork(fileURLToPath(import.meta.url), ['--load', String(seed + core)]),
  )
  const tests = spawn(process.execPath, [join(root, 'deploy', 'test.mjs'), ...args], { stdio: 'inherit' })
  const [code] = await once(tests, 'exit')
  for (const child of loads) child.disconnect()
  return code ?? 1
}

/** Burns one core for random times until the parent disconnects. */
async function load(seed) {
  try {
    setPriority(constants.priority.PRIORITY_HIGH)
  } catch {
    say('No right to raise the priority: the load runs at the same priority as the tests.')
  }
  const random = generator(seed)
  while (process.connected) {
    const burnMs = SHORTEST_MS + random() * (LONGEST_MS - SHORTEST_MS)
    const untilMs = performance.now() + burnMs
    while (performance.now() < untilMs);
    await new Promise((resolve) => setTimeout(resolve, IDLE * 2 * random() * burnMs))
  }
}

/** The mulberry32 generator: numbers from 0 to 1, the same for the same seed. */
function generator(seed) {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
