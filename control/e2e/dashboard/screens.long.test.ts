import t, { type Test } from 'tap'
import { CHROMIUM } from '../../../fixtures/service/chromium.js'
import { temporaryFolder } from '../../../fixtures/service/cli.js'
import {
  type DashboardPage,
  openBrowser,
  openDashboard,
  signInOwner,
  signInStaff,
} from '../../../fixtures/service/dashboard.js'
import {
  createStaff,
  fillOrganization,
  fillStaffArea,
  openScreens,
  type Screens,
  staffScreens,
  startForDashboard,
} from '../../../fixtures/service/dashboard-data.js'
import { STATES, states } from '../../../fixtures/service/dashboard-states.js'

/*
 * Every screen of the dashboard with data, in two languages, two colours and three widths: no violation of WCAG 2.2 AA,
 * no sideways scroll, no error, no missing text, no violation of the security policy, no request to another host.
 */

const skip = CHROMIUM === null ? 'chromium is not installed' : false
const WIDTHS = [320, 768, 1440] as const
const OTHER = { light: 'dark', dark: 'light' } as const
/**
 * Each language has one page; both are open at the same time, as many as the smallest host has cores. A page keeps its colours
 * when it loads the next screen, so that screens are loaded in dark colours in English, and in light colours in Hindi.
 */
const COLOURS = { en: ['light', 'dark'], hi: ['dark', 'light'] } as const
type Language = keyof typeof COLOURS

t.test('every screen in every view', { skip, timeout: 1_200_000 }, async (t) => {
  const folder = await temporaryFolder(t)
  const service = await startForDashboard(t, folder)
  const browser = await openBrowser(CHROMIUM ?? '')
  t.teardown(() => browser.close())
  const url = `${service.httpUrl}/dashboard/`
  const wide = { language: 'en', colours: 'light', width: WIDTHS[2] } as const
  const owner = await openDashboard(browser, url, wide)
  await signInOwner(owner.page, service)
  const narrow = { language: 'en', colours: 'light', width: WIDTHS[0] } as const
  const failing = await openDashboard(browser, url, narrow, await owner.page.context().storageState())
  await states(t, failing, STATES)
  await failing.close()
  const account = await createStaff(t, folder)
  const staff = await openDashboard(browser, url, wide)
  await signInStaff(staff.page, url, account.email, account.password)
  const screens = await fillOrganization(service, owner.page, staff.page)
  await fillStaffArea(service, staff.page)
  const areas: readonly Area[] = [
    { screens: await openScreens(service), state: undefined },
    { screens, state: await owner.page.context().storageState() },
    { screens: await staffScreens(staff.page), state: await staff.page.context().storageState() },
  ]
  await owner.show(screens.callbacks ?? '')
  // The fixture promises them on a call that came in.
  const unproven = owner.page.getByText('Shown by the caller, not proven')
  await unproven.first().waitFor()
  t.equal(await unproven.count(), 5)
  await owner.close()
  await staff.close()

  const seeAll = async (language: Language): Promise<void> => {
    for (const { screens, state } of areas) {
      const view = { language, colours: COLOURS[language][0], width: WIDTHS[0] }
      const dashboard = await openDashboard(browser, url, view, state)
      await visit(t, dashboard, screens, language)
      await dashboard.close()
    }
  }
  await Promise.all([seeAll('en'), seeAll('hi')])
  service.cli.process.kill('SIGTERM')
  t.equal(await service.cli.exit(), 0)
})

interface Area {
  readonly screens: Screens
  /** Undefined for who is not signed in. */
  readonly state: Parameters<typeof openDashboard>[3]
}

async function visit(t: Test, dashboard: DashboardPage, screens: Screens, language: Language): Promise<void> {
  for (const [name, path] of Object.entries(screens)) {
    await dashboard.show(path)
    for (const colours of COLOURS[language]) {
      await dashboard.page.emulateMedia({ colorScheme: colours, reducedMotion: 'reduce' })
      for (const width of WIDTHS) {
        // Waits until the screen is drawn, in the new colours, too.
        await dashboard.resize(width)
        // The checkout is a page without scripts: only its style sheet knows the colours.
        const shown = dashboard.page.locator(`html:not([data-mantine-color-scheme=${OTHER[colours]}])`)
        t.equal(await shown.count(), 1, `${name} is ${colours}`)
        t.same(await dashboard.audit(), [], `${name}: ${language} ${colours} ${width}`)
      }
    }
  }
  t.same(dashboard.faults, [], language)
}
