/** Texts of the forms and lists with which organizations build and watch. */
export const build = {
  follow: {
    newCalls: '{count, plural, one {# नई कॉल} other {# नई कॉलें}}',
    newEvents: '{count, plural, one {# नई घटना} other {# नई घटनाएँ}}',
    more: '{items} और अन्य',
  },
  callFilters: {
    label: 'कॉल के फ़िल्टर',
    from: 'इस दिन से',
    until: 'इस दिन तक',
    agent: 'एजेंट',
    number: 'अपना नंबर',
    campaign: 'अभियान',
  },
}
