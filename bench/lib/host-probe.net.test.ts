import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'

for (const file of ['lib/idle-process', 'byo/bot-process', 'byo/caller-process']) {
  t.test(`${file} ends when it is left, also before it was up`, async (t) => {
    const child = fork(fileURLToPath(new URL(`../${file}.js`, import.meta.url)), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    const gone = once(child, 'exit')
    child.disconnect()
    const [code] = await gone
    t.equal(code, 0)
  })
}
