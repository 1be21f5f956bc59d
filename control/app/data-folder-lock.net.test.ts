import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { lockDataFolder } from './data-folder-lock.js'

const MODULE = new URL('./data-folder-lock.js', import.meta.url).href

t.test('one service holds a data folder, until it stops or is killed', async (t) => {
  const folder = t.testdir({})
  const refusal = { code: 'config_invalid', message: /PARLEY_DATA: another Parley service uses/ }
  const program = `import { lockDataFolder } from ${JSON.stringify(MODULE)}
    const lock = lockDataFolder(process.argv[1])
    process.stdout.write('locked')
    setInterval(() => lock, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  t.throws(() => lockDataFolder(folder), refusal)
  t.throws(() => lockDataFolder(folder), refusal)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const lock = lockDataFolder(folder)
  t.throws(() => lockDataFolder(folder), refusal, 'also in one process')
  lock.close()
  lockDataFolder(folder).close()
})
