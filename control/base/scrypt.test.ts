import t from 'tap'
import { settle } from '../../fixtures/host/settle.js'
import { ConcurrencyLimiter, type Derivation, deriveKey } from './scrypt.js'

t.test('the limiter limits running and waiting jobs, keeps their order and rejects the rest', async (t) => {
  const bounded = new ConcurrencyLimiter(2, 3)
  const log: string[] = []
  const finish = new Map<number, (failed: boolean) => void>()
  const job = (id: number) =>
    bounded
      .run(
        () =>
          new Promise<void>((resolve, reject) => {
            log.push(`start ${id}`)
            finish.set(id, (failed) => (failed ? reject(new Error('broken')) : resolve()))
          }),
      )
      .then(
        () => log.push(`end ${id}`),
        (error: unknown) => log.push(`${(error as Error).message} ${id}`),
      )
  const all = [0, 1, 2, 3, 4, 5].map(job)
  await settle()
  t.same(log.splice(0), ['start 0', 'start 1', 'too many passwords at once 5'])
  finish.get(1)?.(true)
  await settle()
  t.same(log.splice(0).sort(), ['broken 1', 'start 2'], 'a failure makes room like a success')
  all.push(job(6))
  finish.get(0)?.(false)
  finish.get(2)?.(false)
  await settle()
  t.same(log.splice(0).sort(), ['end 0', 'end 2', 'start 3', 'start 4'])
  finish.get(3)?.(false)
  finish.get(4)?.(false)
  await settle()
  finish.get(6)?.(false)
  await Promise.all(all)
  t.same(log.splice(0).sort(), ['end 3', 'end 4', 'end 6', 'start 6'])
  all.push(job(7))
  await settle()
  t.same(log, ['start 7'], 'and all places are free again')
  finish.get(7)?.(false)
  await Promise.all(all)
})

t.test('a full queue of new passwords does not delay a sign-in', async (t) => {
  const cost = { N: 2, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }
  const derive = (use: Derivation) => deriveKey(use, 'password', Buffer.from('salt'), 32, cost)
  const stored = Array.from({ length: 66 }, () =>
    derive('new_password').then(
      () => 'derived',
      () => 'refused',
    ),
  )
  t.equal((await derive('sign_in')).length, 32)
  const outcomes = await Promise.all(stored)
  t.equal(outcomes.filter((outcome) => outcome === 'refused').length, 1)
})

t.test('a test vector of RFC 7914', async (t) => {
  const key = await deriveKey('sign_in', 'password', Buffer.from('NaCl'), 64, {
    N: 1024,
    r: 8,
    p: 16,
    maxmem: 64 * 1024 * 1024,
  })
  t.match(
    key.toString('hex'),
    /^fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff1/,
  )
})
