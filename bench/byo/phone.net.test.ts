import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { Phone } from './phone.js'

/** Opens a phone and its far end. `frame` sends a loud frame, which the far end returns if `returns` is true. */
async function openCall(t: Test) {
  const clock = new VirtualClock()
  const far = createSocket('udp4')
  const own = createSocket('udp4')
  for (const socket of [far, own]) {
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
  }
  const phone = new Phone(own, 0, true, clock)
  const connected = once(own, 'connect')
  phone.start(far.address())
  await connected
  t.teardown(() => {
    phone.close()
    far.close()
  })
  return {
    phone,
    clock,
    async frame({ returns }: { readonly returns: boolean }): Promise<void> {
      const arrived = once(far, 'message')
      phone.send(1)
      const [bytes] = (await arrived) as [Buffer]
      if (!returns) return
      const back = once(own, 'message')
      far.send(bytes, phone.port, '127.0.0.1')
      await back
    },
  }
}

t.test('counts a loud frame of the measured time that does not come back', async (t) => {
  const { phone, clock, frame } = await openCall(t)
  phone.begin()
  const sentMs = clock.now()
  await frame({ returns: false })
  await clock.advance(500)
  await frame({ returns: true })
  await clock.advance(500)
  phone.end()
  t.strictSame(phone.echoes, [
    { sentMs: sentMs + 500, delayMs: 0 },
    { sentMs, delayMs: null },
  ])
})

t.test('counts no loud frame that was sent before the measured time', async (t) => {
  const { phone, clock, frame } = await openCall(t)
  await frame({ returns: false })
  await clock.advance(20)
  phone.begin()
  for (let i = 0; i < 40; i++) {
    await frame({ returns: true })
    await clock.advance(20)
  }
  await clock.advance(1_000)
  phone.end()
  t.equal(phone.echoes.length, 40)
  t.notOk(phone.echoes.some(({ delayMs }) => delayMs === null))
})

t.test('counts no loud frame that may still be on its way at the end of the measured time', async (t) => {
  const { phone, clock, frame } = await openCall(t)
  phone.begin()
  await clock.advance(20)
  await frame({ returns: false })
  await clock.advance(999)
  phone.end()
  t.strictSame(phone.echoes, [])
})
