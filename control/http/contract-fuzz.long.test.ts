import { fuzz } from '../../fixtures/contract/fuzz.js'

// Other cases each time; the seed is in the test's name, and PARLEY_FUZZ_SEED repeats it.
const seed = Number(process.env.PARLEY_FUZZ_SEED ?? Date.now() % 2 ** 31)
fuzz({ seed, msPerOperation: 1500, casesPerOperation: 2000 })
