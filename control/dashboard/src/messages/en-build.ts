/** Texts of the forms and lists with which organizations build and watch. */
export const build = {
  follow: {
    newCalls: '{count, plural, one {# new call} other {# new calls}}',
    newEvents: '{count, plural, one {# new event} other {# new events}}',
    more: '{items} and more',
  },
  callFilters: {
    label: 'Filters of the calls',
    from: 'From day',
    until: 'Until day',
    agent: 'Agent',
    number: 'Own number',
    campaign: 'Campaign',
  },
}
