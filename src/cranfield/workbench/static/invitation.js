"use strict";
// The secret of an invitation stands behind #, where no server and no other site sees it; it goes into the form and out of the address.
const secret = document.getElementById("secret");
const given = location.hash.slice(1) || sessionStorage.getItem("invitation") || "";
if (given) {
  sessionStorage.setItem("invitation", given);
  secret.value = given;
  secret.readOnly = true;
  history.replaceState(null, "", location.pathname);
  document.getElementById("password").focus();
}
