import t from 'tap'
import { fuzz } from '../../fixtures/contract/fuzz.js'
import { startPostgres } from '../../fixtures/database/postgres.js'

// Other cases each time, on both databases; the seed is in the test's name, and PARLEY_FUZZ_SEED repeats it.
const seed = Number(process.env.PARLEY_FUZZ_SEED ?? Date.now() % 2 ** 31)
const bounds = { seed, msPerOperation: 500, casesPerOperation: 2000 }

const postgres = await startPostgres()
t.teardown(() => postgres.stop())
fuzz(bounds)
fuzz({ ...bounds, databaseUrl: await postgres.createDatabase() })
