import t from 'tap'
import { openTestCalling } from '../../fixtures/api/calling.js'
import { onEachDialect } from '../../fixtures/database/databases.js'
import { type MortalDatabase, openMortal } from '../../fixtures/database/mortal.js'
import { MemorySip } from '../../fixtures/virtual-call/memory-sip.js'
import { silentLog } from '../../media/base/log.js'
import { openLeases } from '../calls/lifecycle/leases.js'
import { openMailSender } from '../mail/sender.js'
import { openRegistrations } from '../trunks/registrations.js'
import { openTrustedNetworks } from '../trunks/trusted-networks.js'
import { openBackground } from './background.js'

const PROCESSES = 10
/** Statements a second of all idle processes, those that begin and end transactions included. */
const MOST_A_SECOND = 20
const START_MS = 60_000
const MEASURED_MS = 300_000
const STEP_MS = 250

await onEachDialect(t, async (t, open) => {
  const shared = await open()
  const calling = await openTestCalling(shared)
  t.teardown(() => calling.close())
  const { clock, deps: base } = calling
  const log = silentLog
  const closers: (() => Promise<unknown>)[] = []
  const processes: MortalDatabase[] = []
  for (let i = 0; i < PROCESSES; i++) {
    const counted = openMortal(shared, () => {})
    const { db } = counted
    const nodeId = `node-${i}`
    const deps = { ...base, db, reads: db, nodeId, log }
    const unread = () => Promise.reject(new Error('no document is read here'))
    const jobs = await openBackground({
      ...{ ...deps, documents: { read: unread, index: unread }, embedder: null },
      owned: () => new Set(),
      contactMs: () => Number.POSITIVE_INFINITY,
    })
    const mail = openMailSender({
      ...deps,
      transport: { kind: 'file', send: () => Promise.reject(new Error('no mail is sent here')), close() {} },
      from: 'parley@example.com',
      pageUrl: () => 'https://parley.example',
    })
    mail.wake()
    const registrations = openRegistrations({ ...deps, sip: new MemorySip(clock) })
    const networks = openTrustedNetworks({ ...deps, configured: [], apply: () => {} })
    const leases = openLeases({ ...deps, unstored: () => [] })
    for (const part of [jobs, mail, registrations, networks, leases])
      closers.push(() => Promise.resolve(part.close()))
    processes.push(counted)
  }
  const pass = async (ms: number): Promise<number> => {
    const statements = () => processes.reduce((sum, process) => sum + process.statements, 0)
    const before = statements()
    for (let left = ms; left > 0; left -= STEP_MS) {
      clock.advance(STEP_MS)
      for (const process of processes) await process.quiet()
    }
    return statements() - before
  }
  await pass(START_MS)
  const made = await pass(MEASURED_MS)
  const aSecond = made / (MEASURED_MS / 1_000)
  t.ok(aSecond <= MOST_A_SECOND, `${aSecond} statements a second`)
  t.comment(`${aSecond} statements a second of ${PROCESSES} idle processes`)
  const closing = Promise.all(closers.map((close) => close()))
  let closed = false
  closing.finally(() => {
    closed = true
  })
  while (!closed) {
    clock.advance(STEP_MS)
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  await closing
})
