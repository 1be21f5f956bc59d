import t, { type Test } from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../fixtures/host/leaks.js'
import { openDnsServer } from '../../fixtures/sip/dns-server.js'
import { NameResolver } from './name-resolver.js'

assertNothingLeft(t)

const PUBLIC = { type: 'A', address: '93.184.215.14' } as const
/** Longer than the test: only the virtual clock ends a query. */
const NEVER_MS = 60_000

async function rig(t: Test, serverMs = NEVER_MS) {
  const clock = new VirtualClock()
  const dns = await openDnsServer({
    'hooks.example.test': [PUBLIC, { type: 'AAAA', groups: [0x2606, 0, 0, 0, 0, 0, 0, 1] }],
    'four.example.test': [PUBLIC],
    'empty.example.test': [],
  })
  dns.ignores = /\.hang\.test$/
  const names = new NameResolver({ clock, servers: [dns.address], useSystem: false, serverMs })
  t.teardown(async () => {
    names.close()
    await dns.close()
  })
  /** Waits until this many questions about IPv4 addresses have arrived. */
  const asked = async (count: number): Promise<void> => {
    const fours = () => dns.questions.filter((question) => question.startsWith('A ')).length
    while (fours() < count) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return { clock, dns, names, asked }
}

t.test('a name has the addresses of both families', async (t) => {
  const { names } = await rig(t)
  t.strictSame(await names.resolve('hooks.example.test', 'a'), [
    { address: '93.184.215.14', family: 4 },
    { address: '2606::1', family: 6 },
  ])
  t.strictSame(await names.resolve('four.example.test', 'a'), [{ address: '93.184.215.14', family: 4 }])
  t.strictSame((await names.resolve('localhost', 'a'))[0]?.address.startsWith('127.'), true, 'the hosts file')
})

t.test('results are cached for their time to live, at most for a minute', async (t) => {
  const { names, clock, dns } = await rig(t)
  const resolve = () => names.resolve('Four.example.test.', 'a')
  dns.ttlS = 10
  await Promise.all([resolve(), resolve()])
  clock.advance(9_999)
  await resolve()
  t.strictSame([...dns.questions].sort(), ['A four.example.test', 'AAAA four.example.test'])
  dns.ttlS = 86_400
  clock.advance(1)
  await resolve()
  t.equal(dns.questions.length, 4)
  clock.advance(60_000)
  await resolve()
  t.equal(dns.questions.length, 6)
})

t.test('a name without addresses fails, and is not asked for again for five seconds', async (t) => {
  const { names, clock, dns } = await rig(t)
  for (const name of ['unknown.example.test', 'empty.example.test']) {
    dns.questions.length = 0
    await t.rejects(names.resolve(name, 'a'), { code: 'ENOTFOUND' })
    await t.rejects(names.resolve(name, 'b'), { code: 'ENOTFOUND' })
    t.equal(dns.questions.length, 2)
    clock.advance(5_000)
    await t.rejects(names.resolve(name, 'a'), { code: 'ENOTFOUND' })
    t.equal(dns.questions.length, 4)
  }
})

t.test('a name without an answer fails after two seconds, and then at once', async (t) => {
  const { names, clock, dns, asked } = await rig(t)
  const failed = t.rejects(names.resolve('one.hang.test', 'a'), { code: 'EAI_AGAIN' })
  await asked(1)
  clock.advance(2_000)
  await failed
  await t.rejects(names.resolve('one.hang.test', 'a'), { code: 'EAI_AGAIN' })
  t.equal(dns.questions.filter((question) => question.startsWith('A ')).length, 1)
})

t.test('one family is enough when the other gets no answer', async (t) => {
  const { names, dns } = await rig(t, 300)
  dns.ignores = /^AAAA /
  t.strictSame(await names.resolve('four.example.test', 'a'), [{ address: '93.184.215.14', family: 4 }])
})

t.test('names that hang delay their own organization only', async (t) => {
  const { names, clock, dns, asked } = await rig(t)
  const outcomes = { failed: 0 }
  const hanging = Array.from({ length: 100 }, (_, i) =>
    names.resolve(`n${i}.hang.test`, 'a').catch((error: { code: string }) => {
      t.equal(error.code, 'EAI_AGAIN')
      outcomes.failed++
    }),
  )
  await asked(16)
  t.strictSame(await names.resolve('four.example.test', 'b'), [{ address: '93.184.215.14', family: 4 }])
  t.equal(outcomes.failed, 20, 'sixteen are asked for, sixty-four wait')
  t.equal(dns.questions.filter((question) => /^A n\d+\.hang/.test(question)).length, 16)
  const own = names.resolve('four.example.test', 'a')
  t.ok(await own, 'a cached name takes no turn')
  for (let round = 2; round <= 5; round++) {
    clock.advance(2_000)
    await asked(round * 16 + 1)
  }
  clock.advance(2_000)
  await Promise.all(hanging)
  t.equal(outcomes.failed, 100)
})
