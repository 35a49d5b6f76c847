/* Checks of the model and the captured trees against the rules of src/rules.h that need no plan. */
#ifndef WEIRI_VALIDATE_H
#define WEIRI_VALIDATE_H

#include "model.h"

/* Adds a finding for every broken rule; every check runs. Follow-ons of one cause are left out. */
void weiri_validate(const weir_kernel *k, weiri_findings *out);

#endif
